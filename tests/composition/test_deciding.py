"""Which operations decide for people: no program may call them, but for one that has the owner's key."""

import pytest

from sandbox_server import app
from sandbox_server.core import ALL_SCOPES, Call, Caller, PermissionDenied
from sandbox_server.core.dispatch import RIGHTS, Dispatcher
from sandbox_server.core.operation import Operation
from sandbox_server.settings import load

pytestmark = pytest.mark.anyio

DECIDES = """
auth.create_invitation auth.revoke_invitation auth.end_session auth.create_key auth.revoke_key
control.freeze_control control.thaw_control
approvals.replace_approval_policy
egress.replace_egress_policy egress.change_egress_policy egress.grant_access egress.revoke_access egress.run_egress_task
egress.end_egress_task
secrets.put_secret secrets.delete_secret
"""
"""They make a person or send one away, give or take a key, pause or let on the agent, or change a policy."""
CHECKED_WITHIN = """
auth.create_ticket handoffs.claim_handoff handoffs.assign_handoff handoffs.answer_handoff handoffs.drop_secret handoffs.cancel_handoff
control.take_control control.hide_screen control.show_screen control.renew_control control.refuse_request
"""
"""They refuse programs by themselves, as far as they decide: a ticket may be for a program, and a request may be the caller's own."""
OF_PROGRAMS = """
approvals.get_approval_policy auth.list_invitations auth.list_keys browser.act browser.execute_action browser.execute_actions
computer.anthropic_action computer.gemini_action computer.openai_action control.give_control control.grant_control
control.release_control egress.forget_egress_proposal egress.get_egress_policy egress.get_egress_proposal
egress.list_connections egress.list_egress_tasks identity.bind_sandbox identity.rotate_identity_key mcp.add_mcp_server
mcp.remove_mcp_server profiles.delete_profile profiles.export_profile profiles.import_logins profiles.import_profile
proxy.add_exclude proxy.add_mapping proxy.diagnose proxy.remove_exclude proxy.remove_mapping proxy.remove_upstream
proxy.set_upstream recorder.export_record recorder.get_film recorder.list_films recorder.pin_films recorder.read_event
recorder.read_events recorder.unpin_films recorder.verify_events sandbox.observe_export sandbox.observe_report_delete
sandbox.observe_start sandbox.observe_stop sandbox.register_hook sandbox.remove_hook screen.change_window screen.click_element
screen.close_window screen.read_clipboard screen.write_clipboard secrets.list_secrets
"""
"""What a program with the scope `admin` or `control` may do."""


def all_operations() -> dict[str, Operation]:
    """Every operation of the server, by its name."""
    return {operation.name: operation for operation in app.build(load({})).operations}


def test_every_operation_that_needs_admin_or_control_is_one_that_decides_or_is_known_not_to() -> None:
    found = {name for name, operation in all_operations().items() if operation.spec.scope in ("admin", "control")}
    assert found - {*DECIDES.split(), *CHECKED_WITHIN.split()} == {*OF_PROGRAMS.split()}


def test_the_flag_stands_on_those_that_decide() -> None:
    assert {name for name, operation in all_operations().items() if operation.spec.decides} == {*DECIDES.split()}


@pytest.mark.parametrize("name", DECIDES.split())
async def test_no_program_may_whatever_its_scopes_and_the_owners_key_and_persons_may(name: str) -> None:
    operation, dispatcher = all_operations()[name], Dispatcher(RIGHTS)
    with pytest.raises(PermissionDenied, match="left to people"):
        await dispatcher.admit(operation, Call(Caller("backend", ALL_SCOPES), "1"))
    for caller in (Caller("key", ALL_SCOPES, owner=True), Caller("ann#1f03ac", ALL_SCOPES, person=True)):
        await dispatcher.admit(operation, Call(caller, "1"))
