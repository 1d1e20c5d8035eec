import time

import pytest

from sandbox_server.cli.times import shown, with_times

MOMENT = 1795355993.25
WRITTEN = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(MOMENT))


@pytest.mark.parametrize("name", ["created", "created_at", "deadline_at", "time", "since", "expires"])
def test_seconds_since_the_epoch_are_a_date(name: str) -> None:
    assert shown(name, MOMENT) == WRITTEN


@pytest.mark.parametrize(
    ("name", "value"), [("bytes", 1795355993), ("created", 12.5), ("format", MOMENT), ("time", True), ("at", "x"), ("at", None)]
)
def test_what_is_no_time_stays_as_it_is(name: str, value: object) -> None:
    assert shown(name, value) == value


def test_times_are_found_wherever_they_are() -> None:
    data = {"checkpoints": [{"id": "a", "created": MOMENT}], "session": {"x": {"last_used_at": 1795355993}}}

    assert with_times(data) == {"checkpoints": [{"id": "a", "created": WRITTEN}], "session": {"x": {"last_used_at": WRITTEN}}}
