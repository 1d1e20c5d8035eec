"""Key sets in files and behind URLs."""

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from sandbox_server.drivers.credentials.jwks import MAX_BYTES, REFRESH_SECONDS, RETRY_SECONDS, JwksFile, JwksUrl, fetch_url
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

PRIVATE = rsa.generate_private_key(65537, 2048)
RSA_JWK = RSAAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True)
EC_JWK = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key(), as_dict=True)


def key_set(*kids: str, jwk: dict[str, object] = RSA_JWK) -> bytes:
    return json.dumps({"keys": [{**jwk, "kid": kid} for kid in kids]}).encode()


class Issuer:
    """A key set that changes, and how often it was fetched."""

    def __init__(self, *kids: str) -> None:
        self.answer: bytes | OSError = key_set(*kids)
        self.fetched = 0
        self.seconds = 0.0

    def fetch(self, url: str) -> bytes:
        assert url == "https://issuer/keys"
        self.fetched += 1
        if isinstance(self.answer, OSError):
            raise self.answer
        return self.answer

    def source(self) -> JwksUrl:
        return JwksUrl("https://issuer/keys", self.fetch, lambda: self.seconds)


async def test_a_known_key_is_fetched_once() -> None:
    issuer = Issuer("a")
    source = issuer.source()
    assert await source.find("a") is not None
    assert await source.find("a") is not None
    assert issuer.fetched == 1


async def test_a_new_key_is_found_after_the_rate_limit() -> None:
    issuer = Issuer("a")
    source = issuer.source()
    assert await source.find("b") is None
    issuer.answer = key_set("a", "b")
    assert await source.find("b") is None, "asked again too soon"
    issuer.seconds = RETRY_SECONDS
    assert await source.find("b") is not None
    assert issuer.fetched == 2


async def test_invented_key_ids_cannot_make_us_fetch_more_often() -> None:
    issuer = Issuer("a")
    source = issuer.source()
    for i in range(100):
        assert await source.find(f"invented-{i}") is None
    assert issuer.fetched == 1


async def test_a_withdrawn_key_is_forgotten() -> None:
    issuer = Issuer("a")
    source = issuer.source()
    assert await source.find("a") is not None
    issuer.answer, issuer.seconds = key_set("b"), REFRESH_SECONDS
    assert await source.find("a") is None


async def test_known_keys_outlast_an_issuer_that_is_down() -> None:
    issuer = Issuer("a")
    source = issuer.source()
    assert await source.find("a") is not None
    issuer.answer, issuer.seconds = OSError("refused"), REFRESH_SECONDS
    assert await source.find("a") is not None


async def test_concurrent_lookups_share_one_fetch() -> None:
    issuer = Issuer("a")
    found = await asyncio.gather(*[issuer.source().find("a")])
    source = issuer.source()
    issuer.fetched = 0
    found = await asyncio.gather(*[source.find("a") for _ in range(20)])
    assert all(key is not None for key in found)
    assert issuer.fetched == 1


async def test_a_key_for_another_algorithm_than_its_type_is_left_out() -> None:
    issuer = Issuer()
    issuer.answer = json.dumps(
        {"keys": [{**RSA_JWK, "kid": "a", "alg": "HS256"}, {"kty": "oct", "kid": "b", "k": "AA"}, {**EC_JWK, "kid": "c"}]}
    ).encode()
    source = issuer.source()
    assert await source.find("a") is None
    assert await source.find("b") is None
    assert (key := await source.find("c")) is not None
    assert key.algorithm == "ES256"


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"keys": 1}', b'{"keys": [null, 1, {}]}', b"\xff"])
async def test_an_answer_that_is_no_key_set_gives_no_key(answer: bytes) -> None:
    issuer = Issuer()
    issuer.answer = answer
    assert await issuer.source().find("a") is None


def test_a_url_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="https"):
        JwksUrl("file:///etc/passwd")


async def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(key_set("a"))
    source = JwksFile(str(file))
    assert await source.find("a") is not None
    file.write_bytes(key_set("b"))
    os.utime(file, ns=(1, 1))
    assert await source.find("a") is None
    assert await source.find("b") is not None


async def test_a_file_with_one_key_needs_no_key_id(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_bytes(key_set("a"))
    assert await JwksFile(str(file)).find(None) is not None
    file.write_bytes(key_set("a", "b"))
    assert await JwksFile(str(file)).find(None) is None


async def test_a_missing_file_gives_no_key(tmp_path: Path) -> None:
    assert await JwksFile(str(tmp_path / "none.json")).find("a") is None


@pytest.mark.parametrize(("status", "size"), [(404, 10), (200, MAX_BYTES + 1)])
def test_what_is_no_good_answer_is_an_error(status: int, size: int) -> None:
    class Issuing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b" " * size)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
            pass

    with HTTPServer(("127.0.0.1", 0), Issuing) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises((OSError, ValueError), match=r"404|over 1048576 bytes"):
            fetch_url(f"http://127.0.0.1:{server.server_port}/")
        thread.join(PATIENCE_SECONDS)
