"""What is left to people, from outside: the agent's key and a backend's token decide nothing, and the owner's key and persons do."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.patience import PATIENCE_SECONDS, until

HTML = {"Accept": "text/html,*/*"}
PRIVATE = ec.generate_private_key(ec.SECP256R1())
ASKS = {"rules": [{"name": "push", "subject": "shell", "match": {"command": "git push*"}}]}
OPEN: dict[str, Any] = {"default": "allow", "rules": []}
NEAR = {"default": "deny", "rules": [{"action": "ask", "hosts": ["near.example"]}]}
SECRET = {"value": "s3cret", "bindings": [{"host": "api.example.com", "in": [{"header": "authorization"}]}]}
POLICIES: list[tuple[str, str, dict[str, Any] | None]] = [
    ("PUT", "/v1/approvals/policy", {"rules": []}),
    ("PUT", "/v1/egress/policy", OPEN),
    ("PATCH", "/v1/egress/policy", {"default": "allow"}),
    ("POST", "/v1/egress/grants", {"host": "near.example", "duration": "always"}),
    ("DELETE", "/v1/egress/grants/g-1", None),
    ("PUT", "/v1/egress/tasks/t", {"minutes": 5}),
    ("DELETE", "/v1/egress/tasks/t", None),
    ("PUT", "/v1/secrets/token", SECRET),
    ("DELETE", "/v1/secrets/token", None),
    ("POST", "/v1/keys", {"label": "another"}),
    ("DELETE", "/v1/keys/00000000", None),
    ("POST", "/v1/control/freeze", {}),
    ("POST", "/v1/control/thaw", {}),
    ("POST", "/v1/invitations", {"access": "control"}),
    ("DELETE", "/v1/invitations/i-1", None),
    ("DELETE", "/v1/sessions/ann%231f03ac", None),
]
"""Every operation that decides, with a body that it takes."""


def token(**claims: object) -> str:
    """A token of the backend's, with every scope unless it names some."""
    return jwt.encode({"exp": int(time.time()) + 3600, "sub": "backend"} | claims, PRIVATE, "ES256")


@pytest.fixture(scope="module")
def owned(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A sandbox with both: the owner's key, and the key of a backend's tokens."""
    pem = PRIVATE.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    settings = {"JWT_PUBLIC_KEY": base64.b64encode(pem).decode(), "APPROVALS": json.dumps(ASKS), "EGRESS_POLICY": json.dumps(NEAR)}
    return sandbox_with(env=settings)


@pytest.fixture(params=["the agent's key", "a token with every scope"])
def program(request: pytest.FixtureRequest, owned: Sandbox) -> Sandbox:
    """The sandbox as a program has it."""
    return owned.for_agent() if request.param == "the agent's key" else replace(owned, api_key=token())


@pytest.fixture(params=["the owner's key", "a token for a person"])
def decider(request: pytest.FixtureRequest, owned: Sandbox) -> Sandbox:
    """The sandbox as who may decide has it."""
    return owned if request.param == "the owner's key" else replace(owned, api_key=token(sub="ann", actor="person"))


def whoami(sandbox: Sandbox, browser: httpx.Client) -> dict[str, Any]:
    """What the sandbox takes the bearer of a browser's cookie for."""
    found: dict[str, Any] = browser.get(f"{sandbox.base_url}/v1/control").raise_for_status().json()["data"]["you"]
    return found


@contextmanager
def opened(sandbox: Sandbox, page: str) -> Iterator[tuple[httpx.Client, httpx.Response]]:
    """A browser that has opened a page, and the page."""
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False, follow_redirects=True, headers=HTML) as browser:
        yield browser, browser.get(f"{sandbox.base_url}{page}")


def refused(answer: httpx.Response) -> bool:
    """Whether it was refused because it is left to people, or because the scope is missing. Nothing else counts."""
    said = answer.text
    return answer.status_code == 403 and ("left to people" in said or "needs the scope" in said or "only a person" in said)


def test_no_program_becomes_a_person(owned: Sandbox, program: Sandbox) -> None:
    made = program.request("POST", "/tickets", json={"actor": "person"})
    assert made.status_code == 403, made.text
    assert "left to people" in made.text
    assert refused(program.request("POST", "/v1/invitations", json={"access": "watch"}))
    for body in ({}, {"uses": 2}, {"actor": "agent"}, {"ttl": 600}):
        ticket = program.request("POST", "/tickets", json=body).raise_for_status().json()["ticket"]
        with opened(owned, f"/view?ticket={ticket}") as (browser, page):
            assert (page.status_code, "<html" in page.text) == (200, True)
            assert whoami(owned, browser)["person"] is False
            again = browser.post(f"{owned.base_url}/tickets", json={"actor": "person"}, headers={"Origin": owned.base_url})
            assert again.status_code == 403, again.text
            assert browser.post(f"{owned.base_url}/v1/control/take", json={}, headers={"Origin": owned.base_url}).status_code == 403


def test_whoever_may_decide_makes_persons(owned: Sandbox, decider: Sandbox) -> None:
    for body in ({}, {"actor": "person"}):
        ticket = decider.request("POST", "/tickets", json=body).raise_for_status().json()["ticket"]
        with opened(owned, f"/view?ticket={ticket}") as (browser, page):
            assert page.status_code == 200
            assert whoami(owned, browser)["person"] is True
    assert decider.request("POST", "/v1/invitations", json={"access": "watch"}).status_code == 200


@pytest.mark.parametrize("kind", ["confirm", "choice", "free"])
def test_no_program_answers_its_own_request_and_it_may_cancel_it(program: Sandbox, kind: str) -> None:
    asked = program.request("POST", "/v1/handoffs", json={"kind": kind, "reason": "Shall I?"}).raise_for_status().json()["data"]
    assert "ticket=" not in json.dumps(asked)
    path = f"/v1/handoffs/{asked['id']}"
    for verb in ("answer", "reply"):
        assert program.request("POST", f"{path}/{verb}", json={"outcome": "done"}).status_code == 403
    assert program.request("POST", f"{path}/claim", json={}).status_code == 403
    assert program.request("POST", f"{path}/assign", json={"to": "me"}).status_code == 403
    assert program.request("GET", path).json()["data"]["status"] == "open"
    assert program.request("DELETE", path).json()["data"]["outcome"] == "cancelled"


def test_no_program_cancels_anothers_request(owned: Sandbox, program: Sandbox) -> None:
    asked = owned.request("POST", "/v1/handoffs", json={"kind": "confirm", "reason": "Shall I?"}).raise_for_status().json()["data"]
    answer = program.request("DELETE", f"/v1/handoffs/{asked['id']}")
    assert (answer.status_code, "only the requester" in answer.text) == (403, True)
    assert owned.request("DELETE", f"/v1/handoffs/{asked['id']}").status_code == 200


def test_a_person_answers_what_a_program_asks(owned: Sandbox, program: Sandbox) -> None:
    asked = program.request("POST", "/v1/handoffs", json={"kind": "confirm", "reason": "Shall I?"}).raise_for_status().json()["data"]
    bearer = replace(owned, api_key=token(sub="ann", actor="person"))
    assert bearer.request("POST", f"/v1/handoffs/{asked['id']}/answer", json={"outcome": "done"}).status_code == 200
    assert program.request("GET", f"/v1/handoffs/{asked['id']}").json()["data"]["confirmed"] is True


def test_no_program_approves_its_own_push(owned: Sandbox, program: Sandbox) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(program.request, "POST", "/v1/bash/exec", json={"command": "git push -q origin main"})
        question = until(lambda: open_approvals(program))[0]
        path = f"/v1/handoffs/{question['id']}"
        assert program.request("POST", f"{path}/answer", json={"outcome": "once"}).status_code == 403
        assert program.request("DELETE", path).status_code in (200, 403), "who asked may withdraw it, which allows nothing"
        if open_approvals(program):
            Person(owned).ask("POST", f"{path}/answer", json={"outcome": "deny"}).raise_for_status()
        done = waiting.result(PATIENCE_SECONDS)
    assert done.status_code == 403, done.text


def test_no_program_allows_the_access_that_it_asks_for(owned: Sandbox, program: Sandbox) -> None:
    waiting = program.request("POST", "/v1/egress/requests", json={"host": "far.example", "reason": "a package"})
    assert waiting.json()["data"]["status"] == "waiting", waiting.text
    question = until(lambda: open_approvals(program))[0]
    path = f"/v1/handoffs/{question['id']}/answer"
    assert program.request("POST", path, json={"outcome": "always"}).status_code == 403
    assert refused(program.request("POST", "/v1/egress/grants", json={"host": "far.example", "duration": "always"}))
    Person(owned).ask("POST", path, json={"outcome": "deny"}).raise_for_status()


def open_approvals(sandbox: Sandbox) -> list[dict[str, Any]]:
    """The questions of policies that nobody has answered."""
    listed = sandbox.request("GET", "/v1/handoffs").raise_for_status().json()["data"]
    return [each for each in listed if each["kind"] == "approve"]


@pytest.mark.parametrize(("verb", "path", "body"), POLICIES)
def test_no_program_changes_a_policy(program: Sandbox, verb: str, path: str, body: dict[str, Any] | None) -> None:
    answer = program.request(verb, path, json=body)
    assert refused(answer), f"{answer.status_code} {answer.text}"


@pytest.mark.parametrize(("verb", "path", "body"), POLICIES)
def test_a_page_that_a_program_s_ticket_opened_changes_none_either(
    owned: Sandbox, program: Sandbox, verb: str, path: str, body: dict[str, Any] | None
) -> None:
    ticket = program.request("POST", "/tickets", json={}).raise_for_status().json()["ticket"]
    with opened(owned, f"/view?ticket={ticket}") as (browser, _):
        answer = browser.request(verb, f"{owned.base_url}{path}", json=body, headers={"Origin": owned.base_url})
    assert refused(answer), f"{answer.status_code} {answer.text}"


@pytest.mark.parametrize(("verb", "path", "body"), POLICIES)
def test_whoever_may_decide_is_not_refused(decider: Sandbox, verb: str, path: str, body: dict[str, Any] | None) -> None:
    """What it is then, such as 404 for what is not there or 428 without a version, is the operation's own answer."""
    answer = decider.request(verb, path, json=body)
    if path.endswith("/freeze"):
        decider.request("POST", "/v1/control/thaw", json={}).raise_for_status()
    assert answer.status_code in (200, 204, 400, 404, 409, 412, 422, 428), f"{answer.status_code} {answer.text}"


def test_the_agents_key_does_an_agents_work(owned: Sandbox) -> None:
    agent = owned.for_agent()
    works: list[tuple[str, str, dict[str, Any] | None]] = [
        ("POST", "/v1/bash/exec", {"command": "id -un"}),
        ("POST", "/v1/file/write", {"file": "/tmp/by-key", "content": "x"}),
        ("POST", "/v1/jupyter/execute", {"code": "1"}),
        ("POST", "/v1/browser/page/navigate", {"url": "about:blank"}),
        ("POST", "/v1/browser/actions", {"action_type": "MOVE_TO", "x": 5, "y": 5}),
        ("GET", "/v1/browser/screenshot", None),
        ("GET", "/v1/control", None),
        ("GET", "/v1/ports", None),
        ("GET", "/v1/checkpoints", None),
        ("POST", "/tickets", {}),
        ("GET", "/json/version", None),
        ("GET", "/metrics", None),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ]
    answers = {f"{verb} {path}": agent.request(verb, path, json=body) for verb, path, body in works}
    assert {name: answer.status_code for name, answer in answers.items() if not answer.is_success} == {}


def test_a_backends_token_goes_on_provisioning(owned: Sandbox) -> None:
    backend = replace(owned, api_key=token(scope="admin view"))
    for verb, path, body in (
        ("POST", "/v1/sandbox/bind", {"tenant": "acme"}),
        ("POST", "/v1/sandbox/hooks", {"name": "bye", "command": "true"}),
        ("GET", "/v1/egress/policy", None),
        ("GET", "/v1/keys", None),
        ("GET", "/v1/recorder/events", None),
    ):
        answer = backend.request(verb, path, json=body)
        assert answer.is_success, f"{verb} {path}: {answer.status_code} {answer.text}"


def test_the_agents_key_is_listed_revoked_and_made_anew_by_the_next_start(start_sandbox: Callable[..., Sandbox]) -> None:
    owned = start_sandbox()
    agent = owned.for_agent()
    assert agent.request("GET", "/v1/control").status_code == 200
    [listed] = owned.request("GET", "/v1/keys").raise_for_status().json()["data"]
    assert (listed["created_by"], listed["expires_at"], "admin" in listed["scopes"]) == ("boot", None, False)
    owned.request("DELETE", f"/v1/keys/{listed['key_id']}").raise_for_status()
    assert agent.request("GET", "/v1/control").status_code == 401
    owned.restart()
    assert agent.request("GET", "/v1/control").status_code == 401
    assert owned.for_agent().request("GET", "/v1/control").status_code == 200


def test_the_agents_key_may_be_given(start_sandbox: Callable[..., Sandbox]) -> None:
    owned = start_sandbox(env={"SANDBOX_AGENT_KEY": "a-key-for-the-agent"})
    agent = replace(owned, api_key="a-key-for-the-agent")
    assert agent.request("GET", "/v1/control").json()["data"]["you"]["person"] is False
    assert refused(agent.request("POST", "/v1/keys", json={}))
    assert "a-key-for-the-agent" not in owned.run("env").stdout
