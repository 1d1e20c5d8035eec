"""The flight recorder."""

import pytest

from sandbox_server.composition.late import Late, NotMadeYetError
from sandbox_server.composition.recorder import build_recorder, known_secrets
from sandbox_server.settings import load
from tests.composition.made import first

COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_HEADERS": "k=v"}


def test_what_people_put_in_and_enter_is_told_to_the_recorder() -> None:
    made = first()
    listeners = made.control.keeper._listeners

    assert made.recorder.journal in made.recorder.part.opened
    assert (listeners.noted, listeners.lines) == (made.recorder.inputs.note, made.recorder.lines.entered)


def test_who_is_private_cannot_be_asked_before_there_is_a_lease() -> None:
    late = Late[bool]("the control lease")
    journal = build_recorder(load({}), late.get).journal

    with pytest.raises(NotMadeYetError, match="the control lease"):
        journal.private()
    late.set(True)
    assert journal.private()
    assert not first().recorder.journal.private()


def test_a_collector_is_told_of_every_call_where_there_is_one() -> None:
    without, told = first().recorder, first(**COLLECTOR).recorder

    assert without.guard._span is None
    assert told.guard._span
    assert "Spans" not in [type(each).__name__ for each in without.part.opened]
    assert "Spans" in [type(each).__name__ for each in told.part.opened]


def test_the_keys_of_the_sandbox_are_known_to_be_secret() -> None:
    assert "the-key-of-all" in set(known_secrets(load({"SANDBOX_API_KEY": "the-key-of-all"})))
