"""How tests call the protocol's services."""

import json
import struct
from typing import Any

import httpx2
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.e2b.connect_protocol import envelope
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Sandbox

from tests.fleet.e2b.conftest import KEY

Messages = list[dict[str, Any]]


class Client:
    """A caller of one sandbox, as the SDKs are."""

    def __init__(self, http: httpx2.AsyncClient, sandbox: Sandbox, token: str) -> None:
        self.http = http
        self.sandbox = sandbox
        self.headers = {"E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": "49983", "X-Access-Token": token}

    async def unary(self, method: str, message: dict[str, Any], **headers: str) -> httpx2.Response:
        """A call with one message each way."""
        return await self.http.post(f"/{method}", json=message, headers=self.headers | _named(headers))

    async def stream(self, method: str, *messages: dict[str, Any], **headers: str) -> tuple[Messages, dict[str, Any]]:
        """A call with streams: the messages of the answer, and its end."""
        body = b"".join(envelope(json.dumps(message).encode()) for message in messages)
        kind = {"Content-Type": "application/connect+json"}
        answer = await self.http.post(f"/{method}", content=body, headers=self.headers | kind | _named(headers))
        assert answer.status_code == 200, answer.text
        found, content = [], answer.content
        while content:
            flags, length = struct.unpack_from(">BI", content)
            found.append((flags, json.loads(content[5 : 5 + length])))
            content = content[5 + length :]
        assert [flags for flags, _ in found] == [0] * (len(found) - 1) + [2]
        return [message for _, message in found[:-1]], found[-1][1]


async def opened(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, **fields: Any) -> Client:
    """A sandbox that was made by the protocol, and its caller."""
    made = await http.post("/v2/sandboxes", json={"templateID": "base"} | fields, headers={"X-API-KEY": KEY})
    assert made.status_code == 201, made.text
    sandbox = await fleet.get(made.json()["sandboxID"])
    assert made.json()["envdAccessToken"] == tokens.access(sandbox.id)
    return Client(http, sandbox, tokens.access(sandbox.id))


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
