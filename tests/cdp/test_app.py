"""The composition of the process that owns the browser."""

from starlette.routing import Route, WebSocketRoute

from sandbox_server.cdp.app import browser_display, create
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


def test_in_a_box_the_browser_reaches_the_display_by_a_path_that_is_not_the_agents() -> None:
    assert browser_display(Settings(), boxed=False) == ":99"
    assert browser_display(Settings(), boxed=True) == "unix:/run/sandbox-desktop/x11/X99.localhost"
