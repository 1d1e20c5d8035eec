"""Who signs in waits for no thread that the work of programs has."""

from collections.abc import Callable

import pytest

from sandbox_server.core import ALL_SCOPES, Call, Caller
from sandbox_server.features.auth.agent_keys import AgentKeyList, CreateKey, KeyRef
from sandbox_server.features.auth.auth import CreateTicket
from sandbox_server.features.auth.invitations import CreateInvitation, Invitations, NamedInvitation
from tests.features.auth.conftest import KEY, Gate, set_by
from tests.threads import no_thread_is_free

pytestmark = pytest.mark.anyio

PERSON = Caller("ann", ALL_SCOPES, person=True)


async def test_a_person_signs_in_by_link_and_by_token_while_no_thread_is_free(gate: Gate, signed: Callable[..., str]) -> None:
    ticket = await gate.ticket({"actor": "person"})
    async with no_thread_is_free():
        cookie = set_by(await gate.ask(f"/view?ticket={ticket}", accept="text/html"))
        assert (await gate.ask("/view", cookie=cookie)).headers["X-Sandbox-Actor"] == "person"
        assert (await gate.ask("/v1/x", authorization=f"Bearer {signed(sub='ann', actor='person')}")).status == 200
        assert (await gate.ask("/v1/x", x_aio_api_key=KEY)).status == 200


async def test_people_make_tickets_keys_and_invitations_while_no_thread_is_free(gate: Gate) -> None:
    keys = AgentKeyList(gate.agent_keys)
    invitations = Invitations(gate.tickets)
    call = Call(PERSON, "1")
    async with no_thread_is_free():
        for caller in (PERSON, Caller("key", ALL_SCOPES, owner=True)):
            await gate.auth.create_ticket(CreateTicket(), Call(caller, "1"))
        key = await keys.create_key(CreateKey(), call)
        await keys.revoke_key(KeyRef(key_id=key.key_id))
        made = await invitations.create_invitation(CreateInvitation(), call)
        assert [each.id for each in await invitations.list_invitations(call)] == [made.id]
        await invitations.revoke_invitation(NamedInvitation(id=made.id), call)
