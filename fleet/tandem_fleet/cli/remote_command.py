"""Runs a command in a sandbox and passes on what it writes, as it writes it."""

import json
import os
import ssl
import sys
from typing import Any

import httpx2

from tandem_fleet.errors import FleetError, SandboxFailedError

KILLED = {"timed_out": 124, "killed": 137}
"""Exit codes for ends that have none, as timeout(1) and shells give them."""


def client(seconds: float, **timeouts: float | None) -> httpx2.AsyncClient:
    """Who calls a sandbox. Certificates are verified by this machine's authorities, and those of `SSL_CERT_FILE`."""
    timeout = httpx2.Timeout(seconds, **timeouts)
    return httpx2.AsyncClient(timeout=timeout, trust_env=False, verify=ssl.create_default_context())


async def run(address: str, token: str, command: str, cwd: str | None) -> int:
    """The command's exit code. Its output goes to ours."""
    try:
        return await _run(address, token, command, cwd)
    except httpx2.HTTPError as error:
        raise SandboxFailedError(f"the connection ended before the command did: {error or type(error).__name__}") from error


async def _run(address: str, token: str, command: str, cwd: str | None) -> int:
    body: dict[str, Any] = {"command": command} | ({"exec_dir": cwd} if cwd else {})
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    async with (
        client(30, read=None) as http,
        http.stream("POST", f"{address}/v1/bash/exec", json=body, headers=headers) as response,
    ):
        if response.status_code != 200:
            raise FleetError(f"the sandbox answered {response.status_code}: {_message(await response.aread())}")
        event = ""
        async for line in response.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data" and event == "output":
                _write(json.loads(value))
            elif name == "data" and event == "exit":
                return _code(json.loads(value))
    raise SandboxFailedError("the connection ended before the command did")


def _write(output: dict[str, Any]) -> None:
    """Bytes that are no text come as surrogates, and go out as they were."""
    stream = 2 if output["stream"] == "stderr" else 1
    data = output["data"].encode("utf-8", "surrogateescape")
    while data:
        data = data[os.write(stream, data) :]


def _code(ended: dict[str, Any]) -> int:
    code = ended.get("exit_code")
    if code is None:
        sys.stderr.write(f"tandem: the command was {ended.get('status', 'ended')}\n")
        return KILLED.get(str(ended.get("status")), 1)
    return int(code)


def _message(content: bytes) -> str:
    try:
        return str(json.loads(content).get("message") or content[:200])
    except ValueError:
        return content[:200].decode("utf-8", "replace")
