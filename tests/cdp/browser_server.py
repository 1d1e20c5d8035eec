"""Own a browser: `python -m tests.cdp.browser_server JSON`, a list of paths, display, settings of the browser, times to replace."""

import json
import sys

from sandbox_server.cdp import browser_supervisor
from sandbox_server.cdp.app import serve
from sandbox_server.settings import DisplaySettings, Paths, Settings
from sandbox_server.settings.browser import BrowserSettings

if __name__ == "__main__":
    paths, display, settings, times = json.loads(sys.argv[1])
    vars(browser_supervisor).update(times)
    serve(Settings(paths=Paths(**paths), display=DisplaySettings(name=display), browser=BrowserSettings(**settings)))
