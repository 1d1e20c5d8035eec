"""A mail handed over."""

from email.message import EmailMessage

import pytest

from sandbox_server.drivers.clients.mail import MailServer, send
from tests.mail_server import Mailbox

pytestmark = pytest.mark.anyio


def mail() -> EmailMessage:
    written = EmailMessage()
    written["From"], written["To"] = "a@example.com", "b@example.com"
    written.set_content("text\n")
    return written


async def test_mail_authenticates_if_the_url_has_a_user() -> None:
    with Mailbox("AUTH PLAIN") as box:
        answer = await send(MailServer.at(f"smtp+plain://me:p%40ss@127.0.0.1:{box.port}"), mail())

    assert (answer.status, answer.error) == (250, None)
    assert len(box.signed_in) == len(box.received) == 1


async def test_a_refusal_is_told_and_nothing_of_the_password() -> None:
    with Mailbox("AUTH PLAIN", accepts=False) as box:
        receiver = await send(MailServer.at(f"smtp+plain://127.0.0.1:{box.port}"), mail())
        user = await send(MailServer.at(f"smtp+plain://me:secret@127.0.0.1:{box.port}"), mail())

    assert receiver.error == "{'b@example.com': (550, b'5.1.1 nobody')}"
    assert (user.status, user.error) == (535, "5.7.8 no")


async def test_without_tls_nothing_is_said_where_it_is_wanted() -> None:
    with Mailbox("AUTH PLAIN") as box:
        answer = await send(MailServer.at(f"smtp://me:secret@127.0.0.1:{box.port}"), mail())

    assert answer.status is None
    assert "STARTTLS" in str(answer.error)
    assert (box.signed_in, box.received) == ([], [])


async def test_a_server_that_is_not_there_is_told() -> None:
    with Mailbox() as box:
        pass
    for scheme in ("smtps", "smtp+plain"):
        answer = await send(MailServer.at(f"{scheme}://127.0.0.1:{box.port}"), mail())
        assert answer.status is None
        assert answer.error


def test_ports_are_those_of_the_scheme() -> None:
    assert [MailServer.at(f"{scheme}://h").port for scheme in ("smtps", "smtp", "smtp+plain")] == [465, 587, 25]
