"""Binding a sandbox by the API."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, Event, InvalidArgument, PermissionDenied
from sandbox_server.core.dispatch import Dispatcher, InvalidFields, require_scope
from sandbox_server.core.errors import Failure, PreconditionRequired
from sandbox_server.core.operation import operations
from sandbox_server.features.auth.credentials import AGENT_SCOPES
from sandbox_server.features.workload_identity.binding import SandboxBindings
from tests.identities import Identity, claims_in

pytestmark = pytest.mark.anyio

OWNER = Caller("key")


async def bound(made: SandboxBindings, caller: Caller = OWNER, if_match: str | None = None, **fields: object) -> Any:
    [found] = operations(made)
    headers = {} if if_match is None else {"if-match": if_match}
    return await Dispatcher([require_scope]).call(found, fields, Call(caller, "1", headers=headers))


async def following(events: AsyncIterator[Event]) -> Event:
    async with asyncio.timeout(30):
        return await anext(events)


async def test_tokens_say_what_the_owner_has_bound(identity: Identity) -> None:
    changes: list[int] = []
    made = SandboxBindings(identity.bindings, lambda: changes.append(1))
    reply = await bound(made, tenant="acme", task="t-1", labels={"team": "search"})

    assert (reply.data.tenant, reply.data.sandbox_id, reply.data.etag) == ("acme", "box-1", '"1"')
    assert reply.headers == {"ETag": '"1"'}
    assert claims_in(identity.token())["tenant"] == "acme"
    await bound(made, tenant="acme", task="t-1", labels={"team": "search"})
    assert changes == [1]


async def test_an_agent_binds_nothing(identity: Identity) -> None:
    with pytest.raises(PermissionDenied):
        await bound(SandboxBindings(identity.bindings), Caller("agent", AGENT_SCOPES), tenant="acme")
    assert identity.bindings.current.tenant is None


async def test_the_version_comes_in_if_match(identity: Identity) -> None:
    made = SandboxBindings(identity.bindings)
    await bound(made, tenant="acme")
    with pytest.raises(PreconditionRequired):
        await bound(made, tenant="acme", task="t-2")
    assert (await bound(made, if_match='"1"', tenant="acme", task="t-2")).data.task == "t-2"


async def test_an_empty_if_match_says_no_version_and_a_list_may_name_it(identity: Identity) -> None:
    made = SandboxBindings(identity.bindings)
    await bound(made, if_match="", tenant="acme")
    with pytest.raises(PreconditionRequired):
        await bound(made, if_match="", tenant="acme", task="t-2")
    assert (await bound(made, if_match='"7", "1"', tenant="acme", task="t-2")).data.etag == '"2"'


async def test_of_many_binds_at_once_one_wins(identity: Identity) -> None:
    made = SandboxBindings(identity.bindings)
    results = await asyncio.gather(*(bound(made, tenant=f"tenant-{number}") for number in range(20)), return_exceptions=True)

    won = [result.data.tenant for result in results if not isinstance(result, BaseException)]
    assert won == [identity.bindings.current.tenant]
    assert all(isinstance(result, Failure) for result in results if isinstance(result, BaseException))


@pytest.mark.parametrize(
    "fields",
    [
        {"tenant": ""},
        {"tenant": "a/b"},
        {"tenant": ".."},
        {"tenant": "a" * 65},
        {"tenant": "münchen"},
        {"tenant": "a\n"},
        {"tenant": 7},
        {"task": "a/../../sandbox/other"},
        {"labels": {"Team": "x"}},
        {"labels": {"": "x"}},
        {"labels": {"team": "a\x00"}},
        {"labels": {"team": "a\u202eb"}},
        {"labels": {"team": "x" * 129}},
        {"labels": {f"l{number}": "x" for number in range(17)}},
        {"labels": []},
    ],
)
async def test_what_is_no_name_is_refused_and_changes_nothing(identity: Identity, fields: dict[str, Any]) -> None:
    with pytest.raises((InvalidArgument, InvalidFields)):
        await bound(SandboxBindings(identity.bindings), **fields)
    assert identity.bindings.current.version == 0


async def test_who_follows_hears_of_the_binding_at_first_and_after_each_change(identity: Identity) -> None:
    made = SandboxBindings(identity.bindings)
    events = await made.follow(Call(OWNER, "1"))
    assert events
    first: Any = (await following(events)).data
    waiting = asyncio.ensure_future(following(events))
    await bound(made, tenant="acme")
    second: Any = (await waiting).data

    assert (first["tenant"], second["tenant"], second["etag"]) == (None, "acme", '"1"')
    await events.aclose()  # type: ignore[attr-defined] # it is a generator
