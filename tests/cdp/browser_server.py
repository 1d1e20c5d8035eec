"""Own a browser, as the fork server starts it."""

import json
from collections.abc import Sequence

from sandbox_server.cdp import browser_supervisor, browser_watch, private_window, request_decisions
from sandbox_server.cdp.app import serve
from sandbox_server.settings import DisplaySettings, Paths, Settings
from sandbox_server.settings.browser import BrowserSettings


def main(arguments: Sequence[str], _: Sequence[int]) -> None:
    """Serve, as a JSON list says: paths, the display, settings of the browser, times to replace."""
    paths, display, settings, times = json.loads(arguments[0])
    for module in (browser_supervisor, browser_watch, private_window, request_decisions):
        vars(module).update({name: value for name, value in times.items() if name in vars(module)})
    serve(Settings(paths=Paths(**paths), display=DisplaySettings(name=display), browser=BrowserSettings(**settings)))
