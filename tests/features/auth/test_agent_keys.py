"""Keys for agents: what they open, when they end, and who makes them."""

import pytest
from pydantic import ValidationError

from sandbox_server.core import ALL_SCOPES, Call, Caller
from sandbox_server.core.dispatch import Dispatcher, require_decider, require_scope
from sandbox_server.core.errors import NotFound, PermissionDenied
from sandbox_server.core.operation import operations
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.features.auth.agent_keys import AgentKeyList, CreateKey, KeyRef, ListedAgentKey, NewAgentKey
from sandbox_server.features.auth.credentials import KEY_SCOPES
from tests.features.auth.conftest import Gate, set_by

pytestmark = pytest.mark.anyio

OWNER = Caller("owner#1f03ac", person=True)


def keys_of(gate: Gate) -> AgentKeyList:
    return AgentKeyList(gate.agent_keys, gate._now)


def call(caller: Caller = OWNER, expires: float | None = None) -> Call:
    return Call(caller, "1", headers={} if expires is None else {"x-sandbox-expires": f"{expires:.0f}"})


async def made(gate: Gate, caller: Caller = OWNER, expires: float | None = None, **request: object) -> NewAgentKey:
    key: NewAgentKey = await keys_of(gate).create_key(CreateKey.model_validate(request), call(caller, expires))
    return key


async def test_a_key_opens_what_agents_may_do_and_no_more(gate: Gate) -> None:
    key = await made(gate, label="Claude", ttl=600)
    answer = await gate.ask("/mcp", authorization=f"Bearer {key.key}")
    assert (answer.status, answer.headers["X-Sandbox-Caller"]) == (200, f"agent-key-{key.key_id}")
    assert set(answer.headers["X-Sandbox-Scopes"].split()) == KEY_SCOPES == set(key.scopes)
    assert answer.headers["X-Sandbox-Actor"] == "agent"
    assert gate.programs == 1, "an agent was seen"
    assert (await gate.ask("/recorder", authorization=f"Bearer {key.key}")).status == 403
    assert (await gate.ask("/mcp", x_aio_api_key=key.key)).status == 200


async def test_a_key_is_not_passed_on_to_a_component(gate: Gate) -> None:
    key = await made(gate)
    answer = await gate.ask(f"/mcp?x=1&api_key={key.key}", authorization=f"Bearer {key.key}")
    assert (answer.headers["X-Sandbox-Forward-Authorization"], answer.headers["X-Sandbox-Forward-Uri"]) == ("", "/mcp?x=1")


async def test_a_key_ends_with_its_time_and_when_it_is_revoked_and_so_do_its_sessions(gate: Gate) -> None:
    key = await made(gate, ttl=600)
    cookie = set_by(await gate.ask(f"/v1/x?ticket={await gate.bought(await gate.ask('/tickets', authorization=f'Bearer {key.key}'))}"))
    assert (await gate.ask("/v1/x", cookie=cookie)).status == 200
    await keys_of(gate).revoke_key(KeyRef(key_id=key.key_id))
    assert (await gate.ask("/mcp", authorization=f"Bearer {key.key}")).status == 401
    assert (await gate.ask("/v1/x", cookie=cookie)).status == 401
    with pytest.raises(NotFound):
        await keys_of(gate).revoke_key(KeyRef(key_id=key.key_id))
    short = await made(gate, ttl=60)
    gate.seconds += 61
    assert (await gate.ask("/mcp", authorization=f"Bearer {short.key}")).status == 401


async def test_keys_are_listed_without_the_keys(gate: Gate) -> None:
    key = await made(gate, label="Claude", ttl=600)
    listed: list[ListedAgentKey] = await keys_of(gate).list_keys()
    assert [(each.key_id, each.label, each.created_by) for each in listed] == [(key.key_id, "Claude", "owner#1f03ac")]
    assert key.key not in listed[0].model_dump_json()


async def test_the_key_of_a_tokens_bearer_ends_with_the_token_and_the_owners_has_its_own_time(gate: Gate) -> None:
    soon = gate.seconds + 90
    assert (await made(gate, OWNER, soon, ttl=600)).expires_at == gate.seconds + 600
    assert (await made(gate, Caller("mia#1f03ac", person=True), soon, ttl=600)).expires_at == soon
    assert (await made(gate, Caller("mia"), soon, ttl=60)).expires_at == gate.seconds + 60


async def test_a_key_allows_no_more_than_who_made_it(gate: Gate) -> None:
    key = await made(gate, Caller("mia", frozenset({"admin", "files"})))
    assert key.scopes == ["files"]


async def test_only_who_administers_makes_lists_and_revokes_keys(gate: Gate) -> None:
    guest = Caller("guest#1", ALL_SCOPES - {"admin"}, person=True)
    dispatcher = Dispatcher([require_scope])
    for operation in operations(keys_of(gate)):
        with pytest.raises(PermissionDenied):
            await dispatcher.call(operation, {"key_id": "1"} if operation.spec.name == "revoke_key" else {}, call(guest))


@pytest.mark.parametrize("ttl", [0, 59, 31 * 86400, float("inf"), float("nan")])
def test_a_lifetime_out_of_bounds_is_refused(ttl: float) -> None:
    with pytest.raises(ValidationError):
        CreateKey(ttl=ttl)


async def test_a_token_that_names_profiles_makes_no_keys(gate: Gate) -> None:
    with pytest.raises(PermissionDenied, match="makes no keys"):
        await made(gate, Caller("mia", ALL_SCOPES, profiles=("mail",)))


async def test_a_token_that_names_lanes_makes_no_keys(gate: Gate) -> None:
    with pytest.raises(PermissionDenied, match="makes no keys"):
        await made(gate, Caller("mia", ALL_SCOPES, lanes=("ann",)))


async def test_no_program_makes_or_revokes_keys_whatever_its_scopes(gate: Gate) -> None:
    dispatcher, program = Dispatcher([require_scope, require_decider]), Caller("backend", ALL_SCOPES)
    of_name = {operation.spec.name: operation for operation in operations(keys_of(gate))}
    for name, fields in (("create_key", {}), ("revoke_key", {"key_id": "1"})):
        with pytest.raises(PermissionDenied, match="left to people"):
            await dispatcher.call(of_name[name], fields, call(program))
    assert await dispatcher.call(of_name["create_key"], {}, call(Caller("key", owner=True)))


async def test_the_key_of_the_start_opens_what_agents_may_do_and_does_not_expire(gate: Gate) -> None:
    gate.boot()
    key = gate.agent_key
    answer = await gate.ask("/mcp", authorization=f"Bearer {key}")
    assert set(answer.headers["X-Sandbox-Scopes"].split()) == KEY_SCOPES
    assert (answer.headers["X-Sandbox-Actor"], answer.headers["X-Sandbox-Expires"]) == ("agent", "")
    assert (await gate.ask("/recorder", authorization=f"Bearer {key}")).status == 403
    listed: list[ListedAgentKey] = await keys_of(gate).list_keys()
    assert [(each.name, each.expires_at, each.created_by) for each in listed] == [(answer.headers["X-Sandbox-Caller"], None, "boot")]
    assert key not in listed[0].model_dump_json()


async def test_the_key_of_the_start_is_revoked_and_the_next_start_makes_another(gate: Gate) -> None:
    gate.boot()
    old = gate.agent_key
    cookie = set_by(await gate.ask(f"/v1/x?ticket={await gate.bought(await gate.ask('/tickets', authorization=f'Bearer {old}'))}"))
    other = await made(gate)
    [first] = [each for each in await keys_of(gate).list_keys() if each.expires_at is None]
    await keys_of(gate).revoke_key(KeyRef(key_id=first.key_id))
    for again in (False, True):
        if again:
            gate.boot()
        assert (await gate.ask("/mcp", authorization=f"Bearer {old}")).status == 401
        assert (await gate.ask("/v1/x", cookie=cookie)).status == 401
        assert (await gate.ask("/mcp", authorization=f"Bearer {other.key}")).status == 200
    assert gate.agent_key != old
    assert (await gate.ask("/mcp", authorization=f"Bearer {gate.agent_key}")).status == 200


async def test_a_copy_refuses_the_key_of_the_start_of_its_origin(gate: Gate) -> None:
    gate.boot()
    old = gate.agent_key
    assert (await gate.ask("/mcp", authorization=f"Bearer {old}")).status == 200
    gate.keyring.agent_key.unlink()
    gate.keyring.keep_agent_key((-1, -1), None)
    gate.credentials.renew(Tokens([], None, None))
    assert (await gate.ask("/mcp", authorization=f"Bearer {old}")).status == 401
    assert (await gate.ask("/mcp", authorization=f"Bearer {gate.agent_key}")).status == 200
