"""After a copy is bound, the API knows nothing of what opened its origin."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.composition.first import First, build_first
from sandbox_server.composition.identity import build_identity
from sandbox_server.composition.secrets import build_secrets
from sandbox_server.composition.snapshots import build_snapshots
from sandbox_server.core import Call, Caller
from sandbox_server.core.errors import Unauthenticated, Unavailable
from sandbox_server.features.secrets.registry import SecretRegistry
from sandbox_server.features.workload_identity.tokens import IdentityTokens, TokenRequest
from sandbox_server.settings import Paths, load

pytestmark = pytest.mark.anyio
OLD, NEW = "key-of-the-origin", "key-of-the-copy"
DECLARED = json.dumps({"TOKEN": {"source": {"env": "X"}, "bindings": [{"hosts": ["a.example"]}]}})


@pytest.fixture
def origin(tmp_path: Path) -> tuple[First, IdentityTokens, SecretRegistry]:
    """A whole API that has used everything."""
    (tmp_path / "agent" / "identity").mkdir(parents=True)
    paths = Paths(run=str(tmp_path), agent_run=f"{tmp_path}/agent", recorder=f"{tmp_path}/recorder")
    first = build_first(replace(load({"SANDBOX_API_KEY": OLD, "SECRETS": DECLARED}), paths=paths))
    (tmp_path / "placeholder-key").write_text("key-of-placeholders")
    _, registry = build_secrets(first)
    part, _ = build_identity(first.machine, first.gateway.credentials)
    build_snapshots(first)
    tokens = next(feature for feature in part.features if isinstance(feature, IdentityTokens))
    Path(paths.environ).write_text("{}")
    return first, tokens, registry


async def renewed(first: First, folder: Path) -> None:
    """What `sandbox snapshot bind` does."""
    await first.machine.snapshot.prepare()
    for name in ("identity-keys.json", "identity.json"):
        (folder / name).unlink(missing_ok=True)
    (folder / "api-key").write_text(NEW)
    await first.machine.snapshot.bind()


async def test_only_the_new_key_is_known(origin: tuple[First, IdentityTokens, SecretRegistry], tmp_path: Path) -> None:
    credentials = origin[0].gateway.credentials
    assert (await credentials.verify(OLD)).grant.caller == "key"
    await renewed(origin[0], tmp_path)
    assert (await credentials.verify(NEW)).grant.caller == "key"
    with pytest.raises(Unauthenticated):
        await credentials.verify(OLD)


async def test_id_and_signing_key_are_new(origin: tuple[First, IdentityTokens, SecretRegistry], tmp_path: Path) -> None:
    first, tokens, _ = origin
    before = (await tokens.get_identity()).data
    await renewed(first, tmp_path)
    after = (await tokens.get_identity()).data
    assert after.sandbox_id != before.sandbox_id
    assert set(after.key_ids).isdisjoint(before.key_ids)


async def test_secrets_are_forgotten_and_the_new_key_is_redacted(
    origin: tuple[First, IdentityTokens, SecretRegistry], tmp_path: Path
) -> None:
    first, _, registry = origin
    assert registry.listed()
    await renewed(first, tmp_path)
    assert registry.listed() == []
    assert NEW not in first.recorder.redaction.text(f"echo {NEW}")
    assert OLD not in first.recorder.redaction.text(f"echo {OLD}")


async def test_nothing_is_signed_before_it_is_bound(origin: tuple[First, IdentityTokens, SecretRegistry]) -> None:
    first, tokens, _ = origin
    await first.machine.snapshot.prepare()
    with pytest.raises(Unavailable):
        await tokens.get_identity_token(TokenRequest(audience=["vault"]), Call(Caller("key"), "http"))
