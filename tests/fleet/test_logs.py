"""The service's log."""

import json
import logging
from collections.abc import Iterator

import pytest
from tandem_fleet.logs import REQUEST, ForPeople, Lines


def record(message: str, *arguments: object, error: bool = False) -> logging.LogRecord:
    """A line of the log."""
    seen = (ValueError, ValueError("wrong\nindeed"), None) if error else None
    return logging.LogRecord("tandem_fleet.x", logging.WARNING, "x.py", 1, message, arguments, seen)


@pytest.fixture(autouse=True)
def _request() -> Iterator[None]:
    before = REQUEST.set("7")
    yield
    REQUEST.reset(before)


def test_a_line_is_an_object_with_its_request() -> None:
    line = json.loads(Lines().format(record("cannot %s", "stop\n{}")))
    assert (line["level"], line["logger"], line["message"], line["request"]) == ("warning", "tandem_fleet.x", "cannot stop\n{}", "7")
    assert line["time"].endswith("Z")
    said = Lines().format(record("x" * 100_000, error=True))
    assert "\n" not in said
    assert len(said) < 20_000
    assert "wrong" in json.loads(said)["error"]


def test_what_was_sent_begins_no_line_of_its_own() -> None:
    said = ForPeople("tandem: %(message)s").format(record("cannot %s", "stop\ntandem: all is well\r"))
    assert said == "tandem: cannot stop\n    tandem: all is well\\r [7]"


def test_without_a_request_none_is_named() -> None:
    REQUEST.set("")
    assert "request" not in json.loads(Lines().format(record("x")))
