"""The flight recorder."""

from sandbox_server.app import compose
from sandbox_server.features.recorder.guard import RecorderGuard
from sandbox_server.parts import recorder
from sandbox_server.parts.shared import Shared
from sandbox_server.settings import load


def test_a_call_that_is_refused_is_written_down_too() -> None:
    names = [type(guard).__name__ if isinstance(guard, object) else "" for guard in compose(load({})).guards]
    assert names.index("Audit") < names.index(RecorderGuard.__name__) < names.index("ControlGuard")
    assert names.index(RecorderGuard.__name__) == 1


def test_what_people_put_in_is_counted() -> None:
    shared = Shared(load({}))
    part = recorder.first(shared)

    assert shared.journal in part.opened
    assert shared.control.driving.noted.__name__ == "note"


def test_a_collector_is_told_of_every_call_where_there_is_one() -> None:
    without, told = Shared(load({})), Shared(load({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_HEADERS": "k=v"}))
    [guard] = recorder.first(without).guards
    assert isinstance(guard, RecorderGuard)
    assert guard.span is None
    part = recorder.first(told)
    [guard] = part.guards
    assert isinstance(guard, RecorderGuard)
    assert guard.span
    assert "Spans" in [type(each).__name__ for each in part.opened]


def test_the_keys_of_the_sandbox_are_known_to_be_secret() -> None:
    assert "the-key-of-all" in set(recorder.known_secrets(load({"SANDBOX_API_KEY": "the-key-of-all"})))
