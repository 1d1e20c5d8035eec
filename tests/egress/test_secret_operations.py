"""The operations of the control socket on secrets, in the real process."""

import asyncio
import json
from pathlib import Path

import pytest

from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.flow_events import FlowEvents
from sandbox_server.egress.secret_operations import secret_operations
from tests.egress.conftest import EgressLab
from tests.secret_servers import USERS, VALUE, secret

pytestmark = pytest.mark.anyio


def test_values_come_back_for_the_api_alone() -> None:
    operations = secret_operations(CredentialBroker(FlowEvents()))
    assert operations["authority"]({"make": False}) == {"authority": None}
    operations["secrets"]({"secrets": [secret()], "users": USERS.document()})
    assert operations["values"]({}) == {"values": {"TOKEN": VALUE}}
    assert "BEGIN CERTIFICATE" in str(operations["authority"]({"make": False})["authority"])
    assert operations["secret"]({"name": "TOKEN", "value": "another-value"}) == {"awaited": False}
    assert operations["values"]({}) == {"values": {"TOKEN": "another-value"}}


async def test_what_is_malformed_is_refused_and_the_old_secrets_stand(lab: EgressLab, tmp_path: Path) -> None:
    path = str(tmp_path / "control.sock")
    control = await lab.server.control(path)
    reader, writer = await asyncio.open_unix_connection(path)

    async def ask(**fields: object) -> dict[str, object]:
        writer.write(json.dumps(fields).encode() + b"\n")
        found: dict[str, object] = json.loads(await reader.readline())
        return found

    users = USERS.document()
    assert await ask(op="secrets", secrets=[secret()], users=users) == {"ok": {}}
    for wrong in ([{"name": "x"}], "x", [secret(value="a\r\nb")], [{**secret(), "bindings": [{"hosts": ["*.com"]}]}]):
        assert "refused" in await ask(op="secrets", secrets=wrong, users=users)
    for nobody in ({}, {"programs": ["x"], "browser": 1}, {"programs": [1], "browser": None}, None):
        assert "refused" in await ask(op="secrets", secrets=[], users=nobody)
    assert await ask(op="values") == {"ok": {"values": {"TOKEN": VALUE}}}
    assert VALUE not in json.dumps(await ask(op="status"))
    writer.close()
    control.close()
