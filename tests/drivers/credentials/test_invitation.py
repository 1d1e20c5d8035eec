"""What is known of an invitation."""

from sandbox_server.drivers.credentials.invitation import Invitation


def test_an_invitation_is_read_as_it_was_written_and_a_ticket_is_none() -> None:
    made = Invitation("i-1", "owner#1f03ac", "Mia", 5, 1000.0)
    assert Invitation.loads(made.dumps()) == made
    assert Invitation.loads(None) is None
