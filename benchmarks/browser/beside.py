"""What drives a Chromium of its own with Playwright, without anything of ours between. Runs in a container of the image that is measured.

Reads names of operations on its standard input, and writes the milliseconds that each took.
"""

import functools
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

DISPLAY = ":5"
TEXT = "The quick brown fox jumps over the lazy dog, and then it does the same again, until there are 100 ch"
EXECUTABLE = "/usr/local/bin/browser"


class Quiet(SimpleHTTPRequestHandler):
    """Serves a directory and does not talk about it."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def serve(folder: str) -> str:
    """Serve a folder from a thread, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def operations(page: Page, address: str) -> dict[str, Callable[[], Any]]:
    """What can be asked for."""
    return {
        "screenshot_png": lambda: page.screenshot(type="png"),
        "screenshot_jpeg": lambda: page.screenshot(type="jpeg"),
        "click": lambda: page.click("#button"),
        "type_100": lambda: page.keyboard.type(TEXT),
        "navigate": lambda: page.goto(f"{address}/page.html"),
        "evaluate": lambda: page.evaluate("1 + 1"),
        "focus": lambda: page.focus("#field"),
    }


def main() -> None:
    """Serve until the input ends."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        Path(folder, "page.html").write_text(sys.argv[1], encoding="utf-8")
        screen = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1280x1024x24", "-nolisten", "tcp"], stderr=subprocess.DEVNULL)
        while not Path(f"/tmp/.X11-unix/X{DISPLAY[1:]}").exists():
            time.sleep(0.05)
        browser = playwright.chromium.launch(
            executable_path=EXECUTABLE,
            headless=False,
            chromium_sandbox=True,
            args=["--disable-gpu", "--window-size=1280,1024"],
            env={"DISPLAY": DISPLAY},
        )
        page = browser.new_page(no_viewport=True)
        known = operations(page, serve(folder))
        known["navigate"]()
        for line in sys.stdin:
            before = time.perf_counter()
            known[line.strip()]()
            sys.stdout.write(f"{(time.perf_counter() - before) * 1000}\n")
            sys.stdout.flush()
        browser.close()
        screen.kill()


main()
