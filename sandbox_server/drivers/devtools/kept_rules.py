"""Request rules in a file, so that they survive a restart of the server."""

import base64
import logging
from collections.abc import Mapping
from typing import Any

from sandbox_server.drivers.devtools.globs import Glob
from sandbox_server.drivers.devtools.interception import Interception, RequestRoute, RouteAnswer
from sandbox_server.drivers.storage.json_file import JsonFile

log = logging.getLogger(__name__)


class KeptRules:
    """Rules in a file. They hold secrets, such as authorization headers."""

    def __init__(self, path: str) -> None:
        self._file = JsonFile(path)

    def write(self, rules: Interception) -> None:
        """Replace the saved rules."""
        routes = [_route(route) for route in rules.routes.values()]
        origins = {origin: dict(headers) for origin, headers in rules.origins.items()}
        self._file.write({"headers": dict(rules.headers), "routes": routes, "origins": origins})

    def read(self) -> Interception:
        """Return the saved rules; none if the file is missing or unreadable."""
        try:
            return _rules(self._file.read() or {})
        except (OSError, KeyError, TypeError, ValueError):
            log.exception("the rules for the browser's requests cannot be read")
            return Interception()


def _route(route: RequestRoute) -> dict[str, Any]:
    answer = route.answer
    kept = None
    if answer:
        body = base64.b64encode(answer.body).decode()
        kept = {"status": answer.status, "headers": dict(answer.headers), "body": body, "content_type": answer.content_type}
    return {"pattern": route.glob.text, "answer": kept, "abort": route.abort}


def _rules(document: Mapping[str, Any]) -> Interception:
    rules = Interception(dict(document.get("headers", {})), origins=dict(document.get("origins", {})))
    for each in document.get("routes", ()):
        rules.add(RequestRoute(Glob(each["pattern"]), _answer(each["answer"]), bool(each["abort"])))
    return rules


def _answer(kept: Mapping[str, Any] | None) -> RouteAnswer | None:
    return (
        kept and RouteAnswer(int(kept["status"]), dict(kept["headers"]), base64.b64decode(kept["body"]), str(kept["content_type"]))
    ) or None
