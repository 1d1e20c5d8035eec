"""In which form people are told, as a real HTTP server and a real mail server get it."""

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sandbox_server.drivers.clients.mail import MailServer
from sandbox_server.features.handoff.handoff import Approval, Handoff
from sandbox_server.features.handoff.notification_targets import (
    MailTarget,
    NotificationTarget,
    NtfyTarget,
    SlackTarget,
    WebhookTarget,
    details,
    signature,
    subject,
)
from tests.features.handoff.test_store import handoff
from tests.mail_server import Mailbox
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

LINK = "https://here/view?ticket=t"
seen: list[tuple[str, dict[str, str], bytes]] = []


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        seen.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(403 if "refused" in self.path else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def http() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


def asked(**changes: object) -> Handoff:
    found = {"reason": "Pay <now> & here", "instructions": "Use the card.", "url": "https://shop.example", "kind": "payment"}
    return handoff("h-1", 1).model_copy(update=found | changes)


async def told(target: NotificationTarget, **changes: object) -> dict[str, Any]:
    """What the service gets."""
    await target.tell(asked(**changes), None)
    body: dict[str, Any] = json.loads(seen[-1][2])
    return body


async def posted(target: NotificationTarget, link: str | None = LINK) -> tuple[str, dict[str, str], dict[str, object]]:
    answer = await target.tell(asked(), link)
    assert (answer.status, answer.error) == (200, None)
    path, headers, body = seen[-1]
    return path, headers, json.loads(body)


async def test_a_webhook_gets_the_request_signed(http: str) -> None:
    _, headers, body = await posted(WebhookTarget(f"{http}/hook", "s3cret"))
    expected = hmac.new(b"s3cret", headers["X-Tandem-Timestamp"].encode() + b"." + seen[-1][2], hashlib.sha256).hexdigest()

    assert headers["X-Tandem-Signature"] == f"sha256={expected}"
    assert body["text"] == f"The agent asks for a person (payment): Pay <now> & here\n{LINK}"
    assert (body["link"], body["handoff"]["id"]) == (LINK, "h-1")  # type: ignore[index]


async def test_slack_gets_a_button_and_nothing_that_is_markup(http: str) -> None:
    _, _, body = await posted(SlackTarget(f"{http}/services/x"))

    assert body["text"] == "The agent asks for a person (payment): Pay &lt;now&gt; &amp; here"
    assert [block["type"] for block in body["blocks"]] == ["header", "section", "actions"]  # type: ignore[attr-defined]
    assert LINK in str(body["blocks"])
    assert (body["unfurl_links"], body["unfurl_media"]) == (False, False)
    assert "mrkdwn" not in str(body)


async def test_ntfy_gets_a_notification_that_opens_the_page(http: str) -> None:
    path, headers, body = await posted(NtfyTarget(f"{http}/below/topic", "tk"))
    assert (path, headers["Authorization"]) == ("/below/", "Bearer tk")
    assert (body["topic"], body["click"]) == ("topic", LINK)
    _, headers, body = await posted(NtfyTarget(f"{http}/topic", None), None)

    assert "Authorization" not in headers
    assert "click" not in body


async def test_a_mail_has_the_link_and_a_subject_of_one_line() -> None:
    with Mailbox() as box:
        server = MailServer.at(f"smtp+plain://127.0.0.1:{box.port}")
        answer = await MailTarget(server, "tandem@box.example", ("ann@example.com", "bob@example.com")).tell(
            asked(reason="a\r\nBcc: eve@x"), LINK
        )

    [(receivers, mail)] = box.received
    assert (answer.status, answer.error) == (250, None)
    assert receivers == ["ann@example.com", "bob@example.com"]
    assert mail["Subject"] == "The agent asks for a person (payment): a Bcc: eve@x"
    assert mail["Bcc"] is None
    assert LINK in mail.get_content()


async def test_a_refusal_is_told(http: str) -> None:
    answer = await SlackTarget(f"{http}/refused").tell(asked(), None)

    assert (answer.status, answer.error) == (403, "Forbidden")


def test_what_is_secret_is_known() -> None:
    server = MailServer.at("smtps://me:pa%40ss@mail.example")
    targets: list[NotificationTarget] = [
        WebhookTarget("u", "s"),
        SlackTarget("u"),
        NtfyTarget("u", "t"),
        MailTarget(server, "a@b", ("c@d",)),
    ]
    assert [target.secrets for target in targets] == [("u", "s"), ("u",), ("u", "t"), ("pa@ss",)]


def test_long_texts_are_cut_and_choices_told() -> None:
    assert len(subject(asked(reason="x" * 4000))) == 150
    assert details(asked(instructions="", url=None, choices=["red", "blue"])) == "red / blue"


def test_without_a_secret_nothing_is_signed() -> None:
    assert signature(None, b"x", 1.0) == {}


async def test_an_approval_is_told_with_what_it_is_about_without_secrets(http: str) -> None:
    about = Approval(subject="shell", rule="push", details={"command": "git push https://me:hunter2@git.example"}, answers=["once", "deny"])
    told = asked(kind="approve", reason="Run a command?", instructions="", url=None, approval=about)
    for target in (WebhookTarget(f"{http}/hook", None), SlackTarget(f"{http}/s"), NtfyTarget(f"{http}/topic", None)):
        await target.tell(told, None)
        body = seen[-1][2].decode()
        assert "git.example" in body
        assert "hunter2" not in body
    assert details(told) == "command: git push https://***@git.example"
