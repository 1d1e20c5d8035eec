"""The service's log: lines for people, or one JSON object a line. Each has the id of the request that it belongs to."""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime

from tandem_fleet.trace_context import TRACE

REQUEST: ContextVar[str] = ContextVar("request", default="")
"""The id of the request that is answered, also in the work that it began."""
MESSAGE = 8192
"""Characters of a message that are written."""


class Lines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record with its time in UTC, level, logger, message, request, trace and traceback."""
        line = {"time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%f}Z", "level": record.levelname.lower()}
        line |= {"logger": record.name, "message": record.getMessage()[:MESSAGE]}
        line |= getattr(record, "fields", {})
        if request := REQUEST.get():
            line["request"] = request
        if context := TRACE.get():
            line["trace"] = context.trace
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)[-MESSAGE:]
        return json.dumps(line)


class ForPeople(logging.Formatter):
    """A line with its request's id at the end."""

    def format(self, record: logging.LogRecord) -> str:
        """The record; what follows a line's end is indented, so that nobody writes a line of their own."""
        request = REQUEST.get()
        said = super().format(record).replace("\r", "\\r").replace("\n", "\n    ")
        return f"{said} [{request}]" if request else said


def configure(kind: str) -> None:
    """Write the log on standard error: `text`, or `json` with a line for each request."""
    output = logging.StreamHandler(sys.stderr)
    output.setFormatter(Lines() if kind == "json" else ForPeople("tandem: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [output]
    root.setLevel(logging.WARNING)
    logging.getLogger("tandem_fleet").setLevel(logging.INFO if kind == "json" else logging.WARNING)
