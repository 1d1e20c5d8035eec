"""Authentication, put together from the settings."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from sandbox_server.core import Call, Caller
from sandbox_server.drivers.ports import Ports
from sandbox_server.features.auth.parts import auth_of
from sandbox_server.settings import load

pytestmark = pytest.mark.anyio


async def status(environ: dict[str, str], **headers: str) -> int:
    asked = {"x-original-uri": "/v1/x", "x-original-path": "/v1/x", **headers}
    answer = await auth_of(load(environ), Ports({8080}, ())).authenticate_request(Call(Caller("nobody"), "1", headers=asked))
    assert isinstance(answer.status, int)
    return answer.status


async def test_the_key_of_the_settings_opens() -> None:
    assert await status({"SANDBOX_API_KEY": "k"}, **{"x-aio-api-key": "k"}) == 200
    assert await status({"SANDBOX_API_KEY": "k"}, **{"x-aio-api-key": "other"}) == 401


async def test_with_authentication_off_everything_opens() -> None:
    assert await status({"AUTH": "off"}) == 200


async def test_every_source_of_keys_in_the_settings_is_asked(tmp_path: Path) -> None:
    (tmp_path / "jwks.json").write_text('{"keys": []}')
    public = ed25519.Ed25519PrivateKey.generate().public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    environ = {"JWT_JWKS_FILE": str(tmp_path / "jwks.json"), "JWT_PUBLIC_KEY": base64.b64encode(pem).decode()}
    assert await status(environ, authorization="Bearer not.a.token") == 401
