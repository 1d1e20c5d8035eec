"""Invitations: what a guest may do, under which name, and for how long."""

from typing import Any

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller, NotFound, PermissionDenied, Reply
from sandbox_server.core.dispatch import Dispatcher, InvalidFields, require_scope
from sandbox_server.core.operation import operations
from sandbox_server.features.auth.invitations import Invitations
from tests.features.auth.conftest import Gate, set_by

pytestmark = pytest.mark.anyio

HTML = "text/html,*/*"
OWNER = Caller("owner#1f03ac", ALL_SCOPES, person=True)
ANN, BOB = (Caller(name, frozenset({"view", "control"}), person=True) for name in ("guest:Ann#1", "guest:Bob#2"))
WATCHER = Caller("guest:Eve#3", frozenset({"view"}), person=True)


class Desk:
    """Calls the operations as a caller."""

    def __init__(self, gate: Gate) -> None:
        self._operations = {each.spec.name: each for each in operations(Invitations(gate.tickets, lambda: gate.seconds))}
        self._dispatcher = Dispatcher([require_scope])

    async def ask(self, caller: Caller, operation: str, /, *, headers: Any = None, **fields: object) -> Any:
        answer = await self._dispatcher.call(self._operations[operation], fields, Call(caller, "1", headers=headers or {}))
        return answer.data if isinstance(answer, Reply) else answer


@pytest.fixture
def desk(gate: Gate) -> Desk:
    return Desk(gate)


async def arrived(gate: Gate, ticket: str, said: str = "") -> dict[str, str]:
    """What the gateway is told of the next request of somebody who came by a link."""
    came = await gate.ask(f"/view?ticket={ticket}{said}", accept=HTML)
    assert came.headers["X-Sandbox-Redirect"] == "/view", "neither the ticket nor the name stays in the address"
    told: dict[str, str] = dict((await gate.ask("/view", cookie=set_by(came))).headers)
    return told


async def test_a_guest_has_the_name_that_they_say_when_they_come(gate: Gate, desk: Desk) -> None:
    made = await desk.ask(OWNER, "create_invitation", uses=2)
    first, second = [await arrived(gate, made.ticket, said) for said in ("&guest=Mia%20Sol", "")]
    assert first["X-Sandbox-Caller"].startswith("guest:Mia%20Sol#")
    assert second["X-Sandbox-Caller"].startswith("guest#")
    assert (first["X-Sandbox-Scopes"], first["X-Sandbox-Actor"]) == ("view", "person")


async def test_a_token_that_names_profiles_invites_nobody(desk: Desk) -> None:
    limited = Caller("agent", frozenset({"view", "control"}), profiles=("work-*",))
    with pytest.raises(PermissionDenied, match="see the screen"):
        await desk.ask(limited, "create_invitation", access="control")


async def test_a_token_that_names_lanes_invites_nobody(desk: Desk) -> None:
    limited = Caller("agent", frozenset({"view", "control"}), lanes=("ann",))
    with pytest.raises(PermissionDenied, match="see the screen"):
        await desk.ask(limited, "create_invitation", access="control")


async def test_a_name_that_the_inviter_gave_is_the_guests_whatever_they_say(gate: Gate, desk: Desk) -> None:
    made = await desk.ask(OWNER, "create_invitation", name="Mia", access="control")
    told = await arrived(gate, made.ticket, "&guest=owner")
    assert told["X-Sandbox-Caller"].startswith("guest:Mia#")
    assert set(told["X-Sandbox-Scopes"].split()) == {"view", "control"}


@pytest.mark.parametrize("said", ["%E2%80%AEx", "%00", "x" * 500, ""])
async def test_a_name_that_cannot_be_one_leaves_a_guest_without(gate: Gate, desk: Desk, said: str) -> None:
    made = await desk.ask(OWNER, "create_invitation")
    assert (await arrived(gate, made.ticket, f"&guest={said}"))["X-Sandbox-Caller"].startswith("guest#")


async def test_nobody_else_says_a_name(gate: Gate) -> None:
    came = await gate.ask(f"/view?ticket={await gate.ticket()}&guest=Mia", accept=HTML)
    assert came.headers["X-Sandbox-Redirect"] == "/view?guest=Mia"
    assert (await gate.ask("/view", cookie=set_by(came))).headers["X-Sandbox-Caller"].startswith("key#")


async def test_an_invitation_is_listed_with_what_is_left_of_it(gate: Gate, desk: Desk) -> None:
    made = await desk.ask(OWNER, "create_invitation", name="Mia", expires_in=600, uses=3)
    await arrived(gate, made.ticket)
    [listed] = await desk.ask(OWNER, "list_invitations")
    assert (listed.id, listed.access, listed.name, listed.uses, listed.left) == (made.id, "watch", "Mia", 3, 2)
    assert listed.expires_at == gate.seconds + 600
    assert "ticket" not in listed.model_dump()


async def test_a_revoked_link_lets_nobody_in_and_who_came_stays(gate: Gate, desk: Desk) -> None:
    made = await desk.ask(OWNER, "create_invitation", uses=5)
    cookie = set_by(await gate.ask(f"/view?ticket={made.ticket}", accept=HTML))
    await desk.ask(OWNER, "revoke_invitation", id=made.id)
    assert (await gate.ask(f"/view?ticket={made.ticket}")).status == 401
    assert (await gate.ask("/view", cookie=cookie)).status == 200
    assert await desk.ask(OWNER, "list_invitations") == []
    with pytest.raises(NotFound):
        await desk.ask(OWNER, "revoke_invitation", id=made.id)


async def test_everybody_sees_and_revokes_their_own_and_an_admin_all(desk: Desk) -> None:
    made = await desk.ask(ANN, "create_invitation")
    assert await desk.ask(BOB, "list_invitations") == []
    with pytest.raises(NotFound):
        await desk.ask(BOB, "revoke_invitation", id=made.id)
    for caller in (ANN, OWNER):
        assert [each.made_by for each in await desk.ask(caller, "list_invitations")] == [ANN.name]
    await desk.ask(OWNER, "revoke_invitation", id=made.id)


async def test_nobody_invites_to_more_than_they_may_do(desk: Desk) -> None:
    asked: dict[str, dict[str, Any]] = {"create_invitation": {}, "list_invitations": {}, "revoke_invitation": {"id": "i-1"}}
    for operation, fields in asked.items():
        with pytest.raises(PermissionDenied):
            await desk.ask(WATCHER, operation, **fields)
    blind = Caller("blind", frozenset({"control"}))
    with pytest.raises(PermissionDenied, match="'view'"):
        await desk.ask(blind, "create_invitation")


async def test_an_invitation_ends_with_what_the_inviter_may_do(gate: Gate, desk: Desk) -> None:
    gate.asked.add("h-1")
    headers = {"x-sandbox-expires": f"{gate.seconds + 100:.0f}", "x-sandbox-handoff": "h-1"}
    made = await desk.ask(ANN, "create_invitation", headers=headers, uses=2)
    assert made.expires_at == gate.seconds + 100
    cookie = set_by(await gate.ask(f"/view?ticket={made.ticket}", accept=HTML))
    gate.asked.clear()
    assert (await gate.ask("/view", cookie=cookie)).status == 401
    assert (await gate.ask(f"/view?ticket={made.ticket}")).status == 401


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "a\u202eb"},
        {"name": "x" * 41},
        {"uses": 0},
        {"uses": 101},
        {"expires_in": 0},
        {"expires_in": 1e9},
        {"access": "admin"},
    ],
)
async def test_what_is_no_invitation_is_refused(desk: Desk, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidFields):
        await desk.ask(OWNER, "create_invitation", **fields)


async def test_the_page_of_an_invitation_needs_no_sign_in(gate: Gate) -> None:
    assert (await gate.ask("/join", accept=HTML)).status == 200
    assert (await gate.ask("/join", cookie=await gate.cookie(scopes=["view"]), accept=HTML)).status == 200
