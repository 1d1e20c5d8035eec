"""Calls of a sandbox by the fleet; what it answers is not trusted."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
import pytest
from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.sandbox_client import ANSWER_BYTES, SandboxClient
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State
from tandem_fleet.signing_key import SigningKey

from tests.fleet.answering import Answering, Call

pytestmark = pytest.mark.anyio


def at(address: str) -> Sandbox:
    """A sandbox that answers there."""
    now = datetime.now(UTC)
    words = {"id": "one", "name": "work", "tenant": "t", "spec": Spec(), "address": address}
    return Sandbox(desired=Desired.RUNNING, state=State.READY, created_at=now, changed_at=now, **words)  # type: ignore[arg-type] # words


async def test_a_call_has_a_token_of_this_sandbox_and_scope_alone(answers: Answering, tmp_path: Path) -> None:
    answers.answers["PUT /v1/x"] = (200, {"success": True, "data": {"y": 1}})
    client = SandboxClient(SigningKey.kept(tmp_path / "key.pem"))
    try:
        assert await client.call(at(answers.address), "admin", "PUT", "/v1/x", {"a": 1}) == {"y": 1}
        (call,) = answers.calls
        claims = jwt.decode(call.headers["authorization"].removeprefix("Bearer "), options={"verify_signature": False})
        assert (claims["aud"], claims["scope"], call.json) == ("one", "admin", {"a": 1})
    finally:
        await client.close()


WRONG = [(200, b"no json"), (200, b"[" * 100_000), (403, {"message": "no"}), (200, b"x" * (ANSWER_BYTES + 1))]


@pytest.mark.parametrize("answer", WRONG, ids=["text", "depth", "refusal", "size"])
async def test_an_answer_that_is_none_is_a_failure_of_the_sandbox(answers: Answering, tmp_path: Path, answer: Any) -> None:
    answers.answers["GET /v1/x"] = answer
    client = SandboxClient(SigningKey.kept(tmp_path / "key.pem"))
    try:
        with pytest.raises(SandboxFailedError):
            await client.call(at(answers.address), "view", "GET", "/v1/x")
    finally:
        await client.close()


async def test_one_that_does_not_answer_is_not_waited_for(answers: Answering, tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def never(_: Call) -> tuple[int, Any]:
        await ended.wait()
        return 200, {}

    answers.answers["GET /v1/x"] = never
    client = SandboxClient(SigningKey.kept(tmp_path / "key.pem"))
    try:
        for address in (answers.address, "http://127.0.0.1:9"):
            with pytest.raises(SandboxFailedError, match="did not answer GET /v1/x"):
                await client.call(at(address), "view", "GET", "/v1/x", seconds=0.3)
    finally:
        ended.set()
        await client.close()
