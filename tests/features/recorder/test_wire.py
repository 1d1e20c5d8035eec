"""Which events are asked for."""

import pytest

from sandbox_server.features.recorder.wire import EventFilter

ENTRY = {"n": 1, "at": 100.0, "kind": "command", "actor": {"type": "agent", "name": "robot"}}


@pytest.mark.parametrize(
    ("asked", "matches"),
    [
        ({}, True),
        ({"actor": "agent"}, True),
        ({"actor": "person"}, False),
        ({"name": "robot"}, True),
        ({"name": "other"}, False),
        ({"kind": "file,command"}, True),
        ({"kind": "comm"}, False),
        ({"since": 100}, True),
        ({"since": 100.1}, False),
        ({"until": 100}, False),
    ],
)
def test_an_entry_is_told_by_actor_kind_and_time(asked: dict[str, object], matches: bool) -> None:
    assert EventFilter.model_validate(asked).matches(ENTRY) is matches
