import base64
from typing import Any

import pytest

from sandbox_server.admission import admission, agent_ports
from sandbox_server.core.errors import PermissionDenied
from sandbox_server.core.operation import operations
from sandbox_server.drivers.process import Processes
from sandbox_server.settings import load

pytestmark = pytest.mark.anyio


def names(**environ: str) -> set[str]:
    return {operation.name for feature in admission(load(environ), Processes("/nowhere")) for operation in operations(feature)}


def test_it_answers_the_gateway_and_shows_ports() -> None:
    assert {"auth.authenticate", "auth.create_ticket", "ports.list_ports", "ports.share_port", "ports.revoke_share"} <= names()


def test_every_kind_of_key_can_be_configured(tmp_path: Any) -> None:
    pem = base64.b64encode(b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----").decode()

    assert names(JWT_PUBLIC_KEY=pem, JWT_JWKS_URL="https://issuer/jwks", JWT_JWKS_FILE=str(tmp_path / "jwks.json"))


async def test_the_gateways_own_port_is_not_the_agents() -> None:
    with pytest.raises(PermissionDenied):
        await agent_ports(load({"PUBLIC_PORT": "9000"})).upstream(9000)
