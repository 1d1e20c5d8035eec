"""The composition of the process that owns the browser."""

from starlette.routing import Route, WebSocketRoute

from sandbox_server.cdp.app import create
from sandbox_server.settings import Settings


def paths() -> dict[str, type]:
    return {route.path: type(route) for route in create(Settings()).routes if isinstance(route, Route | WebSocketRoute)}


def test_every_devtools_path_is_served_with_and_without_the_prefix() -> None:
    served = paths()
    for prefix in ("", "/cdp"):
        for path in ("/json", "/json/", "/json/list", "/json/version", "/json/version/", "/json/protocol", "/json/new"):
            assert served[prefix + path] is Route
        for path in ("/devtools/browser/{id}", "/devtools/page/{id}"):
            assert served[prefix + path] is WebSocketRoute


def test_composing_reads_nothing_and_starts_nothing() -> None:
    assert create(Settings()) is not create(Settings())
