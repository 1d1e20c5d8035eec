import json
import logging
import sys

from sandbox_server.core import logs
from sandbox_server.core.logs import JsonLogFormatter


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("sandbox.audit", logging.INFO, __file__, 1, message, (), None)
    made.__dict__.update(extra)
    return made


def test_a_line_is_one_json_object() -> None:
    line = JsonLogFormatter().format(record("two\nlines"))

    assert "\n" not in line
    assert json.loads(line) | {"time": ""} == {"time": "", "level": "info", "logger": "sandbox.audit", "message": "two\nlines"}


def test_given_fields_stand_beside_the_message() -> None:
    line = json.loads(JsonLogFormatter().format(record("call", fields={"operation": "shell.exec_command", "ms": 1.5})))

    assert (line["operation"], line["ms"]) == ("shell.exec_command", 1.5)


def test_a_traceback_stays_in_its_line() -> None:
    try:
        int("broken")
    except ValueError:
        failed = record("failed", exc_info=sys.exc_info())

    line = JsonLogFormatter().format(failed)

    assert "\n" not in line
    assert "ValueError: invalid literal" in json.loads(line)["traceback"]


def test_no_level_has_the_addresses_that_are_called() -> None:
    before, loggers = logging.root.handlers[:], [logging.getLogger(name) for name in ("", "uvicorn.error", "httpx2")]
    levels = [each.level for each in loggers]
    try:
        for level in ("debug", "info"):
            logs.configure(level)
            assert not logging.getLogger("httpx2").isEnabledFor(logging.INFO)
    finally:
        logging.root.handlers[:] = before
        for each, kept in zip(loggers, levels, strict=True):
            each.setLevel(kept)
