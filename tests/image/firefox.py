"""A Firefox of the tests' own, without a screen, driven by WebDriver BiDi (w3.org/TR/webdriver-bidi), which it speaks itself."""

import itertools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.patience import until

PATIENCE_SECONDS = 90.0
_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Firefox:
    """Its one tab, over one session."""

    def __init__(self, session: ClientConnection) -> None:
        self._session = session
        self._numbers = itertools.count(1)
        self.call("session.new", capabilities={})
        self._tab: str = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params: object) -> Any:
        """What a command answers."""
        number = next(self._numbers)
        self._session.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self._session.recv(timeout=PATIENCE_SECONDS))).get("id") != number:
            pass
        assert answer["type"] == "success", answer
        return answer["result"]

    def go(self, address: str) -> None:
        """Open a page, and wait until it has loaded."""
        self.call("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """What an expression gives on the page, or what its promise does."""
        target, wrapped = {"context": self._tab}, f"Promise.resolve({expression}).then((it) => JSON.stringify(it) ?? 'null')"
        done = self.call("script.evaluate", expression=wrapped, target=target, awaitPromise=True)
        assert done["type"] == "success", done
        return json.loads(done["result"]["value"])

    def until(self, expression: str) -> None:
        """Wait until an expression is true on the page."""
        until(lambda: self.evaluate(expression), told=lambda: f"{expression} on {self.evaluate('document.body.innerText')}")

    def click(self, x: float, y: float) -> None:
        """Click at a place of the page."""
        acts = [{"type": "pointerMove", "x": int(x), "y": int(y)}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._act({"type": "pointer", "id": "mouse", "actions": acts})

    def type(self, text: str) -> None:
        """Type a text, key by key."""
        self._act({"type": "key", "id": "keys", "actions": [{"type": kind, "value": one} for one in text for kind in ("keyDown", "keyUp")]})

    def _act(self, source: dict[str, object]) -> None:
        self.call("input.performActions", context=self._tab, actions=[source])


@contextmanager
def firefox(folder: Path, secure: str) -> Iterator[Firefox]:
    """Start it with a profile in a folder; pages of the host `secure` are as good as encrypted to it."""
    (folder / "user.js").write_text(f'user_pref("dom.securecontext.allowlist", "{secure}");\nuser_pref("app.update.enabled", false);\n')
    told = folder / "told"
    command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(folder), "--remote-debugging-port=0", "about:blank"]
    home = os.environ | {"HOME": str(folder)}
    with told.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=home) as process:
        try:
            until(lambda: _LISTENS.search(told.read_text()), told=told.read_text)
            found = _LISTENS.search(told.read_text())
            assert found
            with connect(f"{found[1]}/session", max_size=None, proxy=None) as session:
                yield Firefox(session)
        finally:
            process.kill()
