import hashlib
from typing import Any

import pytest

from sandbox_server.drivers.egress import aws_signature
from sandbox_server.drivers.egress.bound_secrets import BoundSecret, read_secrets
from sandbox_server.drivers.egress.policy import HttpRequest
from sandbox_server.drivers.egress.secret_injection import Fields
from sandbox_server.drivers.egress.secret_users import Requester
from sandbox_server.egress.request_injection import InjectedRequest, RequestInjection

pytestmark = pytest.mark.anyio
PLACEHOLDER, VALUE = "tandem_AWS_aaaaaaaaaaaa", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SCOPE = "20150830/us-east-1/dynamodb/aws4_request"


def aws(*more: dict[str, Any]) -> list[BoundSecret]:
    bound = {"hosts": ["a.example"], "places": ["sigv4"]}
    return list(read_secrets([{"name": "AWS", "placeholder": PLACEHOLDER, "value": VALUE, "bindings": [bound]}, *more]))


def signed(key: str, body_hash: str, *more: tuple[bytes, bytes], names: str = "host;x-amz-date") -> Fields:
    """A request that a program signed."""
    head = f"AWS4-HMAC-SHA256 Credential=AKID/{SCOPE}, SignedHeaders={names}, Signature=".encode()
    fields = [(b"Host", b"a.example"), (b"X-Amz-Date", b"20150830T123600Z"), *more, (b"Authorization", head + b"0" * 64)]
    found = aws_signature.authorization(fields)
    assert found
    return aws_signature.with_signature(fields, found, aws_signature.sign(key, "POST", b"/", fields, found, body_hash))


async def injected(secrets: list[BoundSecret], fields: Fields, body: bytes) -> InjectedRequest:
    async def read() -> bytes:
        return body

    async def value_of(secret: BoundSecret) -> BoundSecret:
        return secret

    injection = RequestInjection(secrets, ("a.example", 443), HttpRequest("POST", "/"), Requester.PROGRAM, value_of)
    return await injection.inject(b"/", fields, read)


def holds(request: InjectedRequest, body_hash: str) -> bool:
    """Whether the signature is that of the value."""
    found = aws_signature.authorization(request.fields)
    assert found
    return aws_signature.signed_with(VALUE, "POST", request.target, request.fields, found, body_hash)


async def test_a_request_signed_with_the_placeholder_is_signed_with_the_value() -> None:
    body = b'{"a": 1}'
    body_hash = hashlib.sha256(body).hexdigest()
    found = await injected(aws(), signed(PLACEHOLDER, body_hash), body)
    assert holds(found, body_hash)
    assert found.used == {"AWS"}
    assert found.body == body


async def test_a_hash_that_the_request_says_is_believed_and_the_body_streams() -> None:
    said = (b"X-Amz-Content-SHA256", b"UNSIGNED-PAYLOAD")
    fields = signed(PLACEHOLDER, "UNSIGNED-PAYLOAD", said, names="host;x-amz-content-sha256;x-amz-date")
    found = await injected(aws(), fields, b"never read")
    assert found.body is None
    assert holds(found, "UNSIGNED-PAYLOAD")


async def test_a_request_signed_with_anything_else_goes_out_as_it_is() -> None:
    fields = signed("another key", hashlib.sha256(b"").hexdigest())
    found = await injected(aws(), fields, b"")
    assert found.fields == fields
    assert found.used == frozenset()


async def test_a_session_token_is_put_in_before_the_request_is_signed() -> None:
    bound = {"hosts": ["a.example"], "places": ["header:X-Amz-Security-Token"]}
    session = {"name": "SESSION", "placeholder": "tandem_SESSION_bbbb", "value": "session-value", "bindings": [bound]}
    token = (b"X-Amz-Security-Token", b"tandem_SESSION_bbbb")
    body_hash = hashlib.sha256(b"").hexdigest()
    found = await injected(aws(session), signed(PLACEHOLDER, body_hash, token, names="host;x-amz-date;x-amz-security-token"), b"")
    assert (b"X-Amz-Security-Token", b"session-value") in found.fields
    assert holds(found, body_hash)
    assert found.used == {"AWS", "SESSION"}
