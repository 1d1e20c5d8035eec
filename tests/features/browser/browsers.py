"""A browser that does nothing but note what it was told; a real one is in tests/drivers/devtools and tests/image."""

from typing import Any

from sandbox_server.drivers.devtools.connection import DevtoolsRefused
from sandbox_server.drivers.devtools.console import Console
from sandbox_server.drivers.devtools.interception import Interception
from sandbox_server.drivers.devtools.targets import DevtoolsTarget
from sandbox_server.drivers.devtools.traffic import Traffic

PAGE = DevtoolsTarget("session", "page", "page", "page")


class FakeDevtools:
    """In place of `Devtools`."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.console = Console()
        self.rules = Interception()
        self.applied = 0
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, dict[str, Any]] = {"Browser.getVersion": {"product": "Chrome/156"}, "Storage.getCookies": {"cookies": []}}
        self.refuses: set[str] = set()

    async def connection(self) -> None:
        """Nothing to connect to."""

    async def apply_rules(self) -> None:
        self.applied += 1

    async def command(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.commands.append((method, params or {}))
        if method in self.refuses:
            raise DevtoolsRefused("Invalid cookie fields")
        return self.answers.get(method, {})

    def request(self, url: str, number: str = "1", at: float = 1_700_000_000.0) -> None:
        """Have a request logged."""
        request = {"url": url, "method": "GET", "headers": {"Authorization": "hush"}}
        self.traffic.take(
            PAGE, "Network.requestWillBeSent", {"requestId": number, "request": request, "wallTime": at, "timestamp": 1.0, "type": "XHR"}
        )

    def say(self, text: str) -> None:
        """Have a message logged."""
        said = {"type": "log", "args": [{"type": "string", "value": text}], "timestamp": 1000.0}
        self.console.take(PAGE, "Runtime.consoleAPICalled", said)
