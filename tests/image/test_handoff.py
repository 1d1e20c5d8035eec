"""A request to a person from outside: the client's own user, a person in a browser, and everybody who is told of it."""

import asyncio
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from mcp_types import ElicitResult
from playwright.sync_api import Browser, expect

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.image.test_view import browser_for, opened
from tests.mail_server import Mailbox
from tests.mcp.sdk_clients import ERAS, client_of
from tests.patience import until

NODE = "/opt/conformance/node"
SDK = "/opt/conformance/node_modules/@modelcontextprotocol/sdk/dist/esm/client"
PATIENT = f"""
import {{ Client }} from "{SDK}/index.js";
import {{ StreamableHTTPClientTransport }} from "{SDK}/streamableHttp.js";
const [url, key] = process.argv.slice(2);
const client = new Client({{ name: "test", version: "1" }});
const requestInit = {{ headers: {{ Authorization: `Bearer ${{key}}` }} }};
await client.connect(new StreamableHTTPClientTransport(new URL(url), {{ requestInit }}));
const asked = {{ name: "request_human", arguments: {{ reason: "Take your time", wait: 600 }} }};
const options = {{ timeout: 12000, resetTimeoutOnProgress: true, onprogress: () => console.log("progress") }};
const ended = await client.callTool(asked, undefined, options);
console.log(JSON.stringify(ended.structuredContent));
process.exit(0);
"""
"""The other SDK's client, whose calls end when nothing is heard of them for so long."""


class Told(BaseHTTPRequestHandler):
    """Takes what is told, Slack's at the second time."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        heard = self.server.heard  # type: ignore[attr-defined]
        first = self.path.startswith("/slack") and self.path not in [path for path, _ in heard]
        heard.append((self.path, body))
        answer = b'{"ok": true, "result": {"message_id": 1, "chat": {"id": 42}}}'  # Telegram's; the others look at the status alone
        self.send_response(500 if first else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def places() -> Iterator[tuple[list[tuple[str, Any]], Mailbox, dict[str, str]]]:
    """Servers that are told, what they heard, and the settings that name them."""
    host, heard = os.environ["TANDEM_RUN"], list[tuple[str, Any]]()
    with ExitStack() as stack:
        mail = stack.enter_context(Mailbox("AUTH PLAIN", host="0.0.0.0"))
        server = stack.enter_context(ThreadingHTTPServer(("0.0.0.0", 0), Told))
        server.heard = heard  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(server.shutdown)
        at = f"http://{host}:{server.server_port}"
        yield (
            heard,
            mail,
            {
                "HANDOFF_WEBHOOK_URL": f"{at}/hook",
                "HANDOFF_SLACK_URL": f"{at}/slack/s3cret",
                "HANDOFF_TELEGRAM_URL": at,
                "HANDOFF_TELEGRAM_TOKEN": "7:s3cret",
                "HANDOFF_TELEGRAM_CHAT": "42",
                "HANDOFF_NTFY_URL": f"{at}/s3cret-topic",
                "HANDOFF_SMTP_URL": f"smtp+plain://me:s3cret@{host}:{mail.port}",
                "HANDOFF_MAIL_FROM": "tandem@example.com",
                "HANDOFF_MAIL_TO": "ann@example.com",
                "HANDOFF_LINK_URL": "http://here.example",
            },
        )


@pytest.fixture(scope="module")
def told(sandbox_with: Callable[..., Sandbox], places: tuple[Any, Any, dict[str, str]]) -> Sandbox:
    """A container that tells them all."""
    return sandbox_with(env=places[2])


@pytest.fixture(scope="module")
def browser(told: Sandbox) -> Iterator[Browser]:
    with browser_for(told) as launched:
        yield launched


def ask(sandbox: Sandbox, **asked: object) -> dict[str, Any]:
    found: dict[str, Any] = sandbox.request("POST", "/v1/handoffs", json={"reason": "r", **asked}).json()["data"]
    return found


def look(sandbox: Sandbox, handoff: str) -> dict[str, Any]:
    found: dict[str, Any] = sandbox.request("GET", f"/v1/handoffs/{handoff}").json()["data"]
    return found


def test_everybody_is_told_and_what_failed_is_tried_again(told: Sandbox, places: tuple[list[tuple[str, Any]], Mailbox, Any]) -> None:
    heard, mail, _ = places
    asked = ask(told, kind="otp", reason="The code, please", instructions="It is on your phone.")
    until(lambda: len(look(told, asked["id"])["deliveries"]) == 6)
    found = look(told, asked["id"])

    assert sorted((each["to"], each["status"]) for each in found["deliveries"]) == [
        ("mail", 250),
        ("ntfy", 200),
        ("slack", 200),
        ("slack", 500),
        ("telegram", 200),
        ("webhook", 200),
    ]
    assert sorted(path for path, _ in heard) == ["/", "/bot7:s3cret/sendMessage", "/hook", "/slack/s3cret", "/slack/s3cret"]
    assert all("The code, please" in json.dumps(body) for _, body in heard)
    [(receivers, written)] = mail.received
    assert (receivers, written["Subject"]) == (["ann@example.com"], "The agent asks for a person (otp): The code, please")
    link = next(line for line in written.get_content().splitlines() if line.startswith("http://here.example/view?ticket="))
    page = told.http.get(link.replace("http://here.example", told.base_url), headers={"Accept": "text/html"})
    assert page.status_code in (200, 302, 303), page.text
    came = {"Cookie": page.headers["set-cookie"].partition(";")[0]}
    assert told.http.get(f"{told.base_url}/v1/handoffs", headers=came).status_code == 200
    other = next(found for _, body in heard for found in re.findall(r"view\?ticket=tk-[A-Za-z0-9_-]+", json.dumps(body)))
    assert "s3cret" not in json.dumps(found)
    assert "s3cret" not in told.logs()
    assert told.run("sh", "-c", "cat /proc/*/environ /home/gem/.* 2>/dev/null | grep -c s3cret").stdout.strip() == "0"
    told.request("DELETE", f"/v1/handoffs/{asked['id']}")
    # it has ended, and soon after who came by its link, and the links that nobody used
    until(lambda: told.http.get(f"{told.base_url}/v1/handoffs", headers=came).status_code == 401)
    until(lambda: told.http.get(f"{told.base_url}/{other}").status_code == 401)


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_user_of_the_client_answers_a_form(told: Sandbox, era: str) -> None:
    forms: list[Any] = []

    async def answer(_: Any, params: Any) -> ElicitResult:
        forms.append(params)
        return ElicitResult(action="accept", content={"field_city": "Ulm", "outcome": "done"})

    asked = {"reason": "Where to?", "fields": [{"name": "city", "label": "City"}], "wait": 60}
    async with client_of(told.base_url, era, told.headers, elicitation_callback=answer) as client:
        ended = (await client.call_tool("request_human", asked)).structured_content or {}

    assert forms[0].requested_schema["properties"]["field_city"]["title"] == "City"
    assert (ended["values"], ended["answered_in"]) == ({"city": "Ulm"}, "client")


@pytest.mark.anyio
async def test_the_form_is_withdrawn_when_a_person_on_the_page_is_quicker(told: Sandbox) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def think(_: Any, params: Any) -> ElicitResult:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return ElicitResult(action="cancel")

    async with asyncio.timeout(60), client_of(told.base_url, "legacy", told.headers, elicitation_callback=think) as client:
        call = asyncio.create_task(client.call_tool("request_human", {"reason": "Quick!", "wait": 60}))
        await asked.wait()
        await asyncio.to_thread(answer_all, Person(told), "On the page")
        ended = (await call).structured_content or {}
        await withdrawn.wait()

    assert (ended["note"], ended["answered_in"]) == ("On the page", "view")


def answer_all(person: Person, note: str) -> None:
    for each in person.ask("GET", "/v1/handoffs").json()["data"]:
        answer = person.ask("POST", f"/v1/handoffs/{each['id']}/answer", json={"outcome": "done", "note": note})
        assert answer.status_code == 200, answer.text


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_client_waits_past_its_own_timeout_while_it_hears_of_progress(told: Sandbox) -> None:
    command = (NODE, "--input-type=module", "-", f"{told.base_url}/mcp", told.api_key)
    client = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert client.stdin
    assert client.stdout
    client.stdin.write(PATIENT.encode())
    client.stdin.close()
    async with asyncio.timeout(90):
        for _ in range(13):  # one each second: longer than the client would wait by itself
            assert await client.stdout.readline() == b"progress\n"
        await asyncio.to_thread(answer_all, Person(told), "Here I am")
        rest = (await client.stdout.read()).splitlines()
        assert await client.wait() == 0

    assert json.loads(rest[-1])["note"] == "Here I am"


def test_a_secret_field_that_says_not_where_it_belongs_is_refused(told: Sandbox) -> None:
    refused = told.request("POST", "/v1/handoffs", json={"reason": "r", "fields": [{"name": "pin", "label": "PIN", "secret": True}]})

    assert refused.status_code == 422
    assert "a secret field needs a selector" in refused.text


def test_a_person_takes_it_on_passes_it_on_and_the_other_fills_it_in(browser: Browser, told: Sandbox) -> None:
    fields = [{"name": "city", "label": "City"}, {"name": "street", "label": "Street"}]
    asked = ask(told, kind="free", reason="Where shall it go?", instructions="As on the letter.", fields=fields)
    with opened(browser, told) as ann, opened(browser, told, language="zh") as bob:
        first, second = ann.locator("#handoffs .card"), bob.locator("#handoffs .card")
        expect(second.get_by_role("button", name="由我处理")).to_be_visible()
        first.get_by_label("City").fill("Ulm")
        first.get_by_role("button", name="Take this on").click()
        expect(ann.locator("#driver")).to_have_text("You drive")
        expect(first.get_by_label("City")).to_have_value("Ulm")
        expect(second.get_by_role("button", name="改由我处理")).to_be_visible()
        first.get_by_label("Pass on to").select_option(index=1)
        expect(ann.locator("#driver")).to_have_text("The agent drives")
        second.get_by_label("City").fill("Neu-Ulm")
        second.get_by_text("其他回应").click()
        second.get_by_label("给智能体的留言").fill("bell is broken")
        assert second.get_by_label("City").input_value() == "Neu-Ulm"
        second.get_by_role("button", name="部分完成").click()
        expect(second).to_have_count(0)
        expect(first).to_have_count(0)
    ended = look(told, asked["id"])

    assert (ended["outcome"], ended["values"], ended["note"]) == ("partly", {"city": "Neu-Ulm"}, "bell is broken")
    assert ended["answered_in"] == "view"
