"""What an agent can overhear while a person acts: it reads everything that it is let read, again and again, by the API and by DevTools."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from benchmarks.handoff.agent import Agent

READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/browser/page/text", {}),
    ("/v1/browser/page/html", {}),
    ("/v1/browser/page/elements", {}),
    ("/v1/browser/page/markdown", {}),
    ("/v1/browser/page/console", {}),
    ("/v1/browser/network/requests", {}),
    ("/v1/browser/cookies", {}),
    ("/v1/browser/tabs", {}),
    ("/v1/screen/elements", {}),
    ("/v1/control", {}),
    ("/v1/handoffs", {"status": "all"}),
    ("/v1/shell/sessions", {}),
)
_VALUES = "JSON.stringify([...document.querySelectorAll('input')].map((each) => each.value))"
ENABLE = ("Network.enable", "Page.enable", "Runtime.enable", "DOM.enable", "Console.enable", "Log.enable")
LOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Runtime.evaluate", {"expression": _VALUES, "throwOnSideEffect": True}),
    ("DOMSnapshot.captureSnapshot", {"computedStyles": []}),
    ("Accessibility.getFullAXTree", {}),
    ("DOM.getDocument", {"depth": -1, "pierce": True}),
    ("Page.captureSnapshot", {}),
    ("Page.getNavigationHistory", {}),
    ("Network.getAllCookies", {}),
)
PAUSE_SECONDS = 0.2
ANSWER_SECONDS = 30.0


@contextmanager
def eavesdropping(agent: Agent) -> Iterator[None]:
    """Listen for as long as the context; what is heard is the agent's."""
    ended = threading.Event()
    listeners = [threading.Thread(target=_read, args=(agent, ended)), threading.Thread(target=_listen, args=(agent, ended))]
    for listener in listeners:
        listener.start()
    try:
        yield
    finally:
        ended.set()
        for listener in listeners:
            listener.join()


def _read(agent: Agent, ended: threading.Event) -> None:
    while not ended.is_set():
        for path, query in READS:
            agent.call("GET", path, **query)
        agent.call("POST", "/v1/browser/network/export_har", {"save_path": "/home/gem/overheard.har"})
        agent.call("GET", "/v1/file/read", file="/home/gem/overheard.har")
        ended.wait(PAUSE_SECONDS)


def _listen(agent: Agent, ended: threading.Event) -> None:
    """Follow a page by DevTools, and look at it between its events; again where it goes away."""
    while not ended.is_set():
        with suppress(OSError, WebSocketException, TimeoutError, StopIteration):
            answer = agent.call("GET", "/cdp/json/list")
            page = next(each for each in (answer.json() if answer.is_success else []) if each["type"] == "page")
            headers = {"Authorization": agent.authorization}
            with connect(page["webSocketDebuggerUrl"], additional_headers=headers, proxy=None, max_size=None) as socket:
                _Overheard(agent, socket).follow(ended)
        ended.wait(PAUSE_SECONDS)


class _Overheard:
    """One connection to a page."""

    def __init__(self, agent: Agent, socket: ClientConnection) -> None:
        self._agent = agent
        self._socket = socket
        self._last = 0

    def follow(self, ended: threading.Event) -> None:
        for method in ENABLE:
            self._command(method, {})
        while not ended.is_set():
            for method, params in LOOKS:
                self._command(method, params)
            ended.wait(PAUSE_SECONDS)

    def _command(self, method: str, params: dict[str, Any]) -> None:
        """Send one, and keep everything up to its answer; a request that is told of is asked for its body."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": params}))
        wanted = self._last
        while True:
            text = str(self._socket.recv(timeout=ANSWER_SECONDS))
            message = json.loads(text)
            self._agent.heard.append((message.get("method") or method, text.encode()))
            if message.get("method") == "Network.requestWillBeSent":
                self._last += 1
                asked = {"requestId": message["params"]["requestId"]}
                self._socket.send(json.dumps({"id": self._last, "method": "Network.getRequestPostData", "params": asked}))
            if message.get("id") == wanted:
                return
