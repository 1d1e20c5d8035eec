"""With a stand-in for AWS Secrets Manager that checks the signature."""

import hashlib
import json
from typing import Any

import pytest

from sandbox_server.drivers.egress import aws_signature
from sandbox_server.drivers.secrets.aws_secret_store import AwsSecretStore
from sandbox_server.drivers.secrets.sources import ValueUnavailable
from tests.drivers.secrets.conftest import Serve

pytestmark = pytest.mark.anyio
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
VALUES = {"plain": "the-value", "json": '{"key": "the-key"}'}


def respond(method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    signed = aws_signature.authorization(fields)
    body_hash = hashlib.sha256(body).hexdigest()
    if not signed or not aws_signature.signed_with(SECRET, method, target.encode(), fields, signed, body_hash):
        return 400, {"__type": "InvalidSignatureException"}
    assert headers["x-amz-target"] == "secretsmanager.GetSecretValue"
    assert {"host", "x-amz-date", "x-amz-target"} <= set(signed.headers)
    found = VALUES.get(json.loads(body)["SecretId"])
    return (200, {"SecretString": found}) if found else (400, {"__type": "ResourceNotFoundException"})


def store(address: str, secret: str = SECRET, session: str = "") -> AwsSecretStore:
    return AwsSecretStore("eu-central-1", "AKIDEXAMPLE", secret, session, address)


async def test_a_text_and_a_field_of_it_are_fetched(serve: Serve) -> None:
    address, _ = await serve(respond)
    assert (await store(address).fetch({"secret": "plain"})).value == "the-value"
    assert (await store(address, session="session").fetch({"secret": "json", "field": "key"})).value == "the-key"


@pytest.mark.parametrize(
    ("secret", "place"),
    [
        ("wrong", {"secret": "plain"}),
        (SECRET, {"secret": "none"}),
        (SECRET, {"secret": "plain", "field": "x"}),
        (SECRET, {"secret": "json", "field": "x"}),
    ],
)
async def test_what_cannot_be_fetched_is_said(serve: Serve, secret: str, place: dict[str, str]) -> None:
    address, _ = await serve(respond)
    with pytest.raises(ValueUnavailable) as refused:
        await store(address, secret).fetch(place)
    assert secret not in str(refused.value)


def test_its_address_is_that_of_the_region() -> None:
    assert store("")._endpoint == "https://secretsmanager.eu-central-1.amazonaws.com"
