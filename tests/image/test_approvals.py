"""Approvals from outside: a program stops at what a rule asks about, a person answers, and it goes on."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.patience import PATIENCE_SECONDS, until

RULES = [
    {"name": "never", "subject": "shell", "match": {"command": "touch /tmp/forbidden*"}, "action": "deny"},
    {"name": "soon", "subject": "shell", "match": {"command": "git push * soon"}, "seconds": 1},
    {"name": "push", "subject": "shell", "match": {"command": "git push*"}},
    {"name": "local", "subject": "navigation", "match": {"host": "localhost"}, "action": "deny"},
    {"name": "code", "subject": "tool", "match": {"tool": "nodejs.*"}, "action": "deny"},
]
REPOSITORY = """
set -e; rm -rf ~/there ~/here; git init -q --bare ~/there; git init -q -b main ~/here; cd ~/here
git -c user.name=a -c user.email=a@a commit -q --allow-empty -m one; git remote add origin ~/there
"""
PUSH = "cd ~/here && git push -q origin main:{}"
BRANCHES = "git -C ~/there branch --list --format='%(refname:short)'"


@pytest.fixture(scope="module")
def owned(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container whose owner has made rules."""
    return sandbox_with(env={"APPROVALS": json.dumps({"rules": RULES}), "APPROVAL_SECONDS": "60"})


@pytest.fixture(scope="module")
def agent(owned: Sandbox) -> Sandbox:
    """The same, as the agent uses it: by a key without the scopes of an owner."""
    made = owned.request("POST", "/v1/keys", json={"label": "robot"})
    assert made.status_code == 200, made.text
    return replace(owned, api_key=made.json()["data"]["key"])


@pytest.fixture
def person(owned: Sandbox) -> Person:
    return Person(owned)


@pytest.fixture
def running() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.fixture(scope="module", autouse=True)
def repository(owned: Sandbox) -> None:
    done = owned.run("bash", "-c", REPOSITORY)
    assert done.code == 0, done.stderr


def asked(person: Person) -> list[dict[str, Any]]:
    return [each for each in person.ask("GET", "/v1/handoffs").json()["data"] if each["kind"] == "approve"]


def pushing(agent: Sandbox, running: ThreadPoolExecutor, person: Person, branch: str) -> tuple[Future[httpx.Response], dict[str, Any]]:
    """A command that waits for approval, and the question."""
    command = running.submit(agent.request, "POST", "/v1/bash/exec", json={"command": PUSH.format(branch)})
    until(lambda: asked(person))
    return command, asked(person)[0]


def branches(owned: Sandbox) -> list[str]:
    return owned.run("bash", "-c", BRANCHES).stdout.split()


def test_a_push_waits_for_a_person_and_goes_on(owned: Sandbox, agent: Sandbox, person: Person, running: ThreadPoolExecutor) -> None:
    command, question = pushing(agent, running, person, "first")
    assert (question["approval"]["subject"], question["approval"]["rule"]) == ("shell", "push")
    assert question["approval"]["details"]["command"] == PUSH.format("first")
    assert (question["on_timeout"], branches(owned)) == ("deny", [])
    path = f"/v1/handoffs/{question['id']}/answer"
    for program in (agent, owned):
        assert program.request("POST", path, json={"outcome": "once"}).status_code == 403
    assert person.ask("POST", path, json={"outcome": "once"}).status_code == 200
    done = command.result(PATIENCE_SECONDS)
    assert (done.status_code, done.json()["data"]["exit_code"]) == (200, 0), done.text
    assert branches(owned) == ["first"]
    assert person.ask("POST", path, json={"outcome": "always"}).status_code == 409


def test_without_an_answer_in_time_nothing_runs(owned: Sandbox, agent: Sandbox) -> None:
    refused = agent.request("POST", "/v1/bash/exec", json={"command": "cd ~/here && git push -q origin soon"})
    assert refused.status_code == 403, refused.text
    assert "nobody approved this in time" in refused.text
    assert "request_human" in refused.text
    assert "soon" not in branches(owned)


def test_what_is_denied_does_not_run_and_is_not_asked_again_at_once(
    owned: Sandbox, agent: Sandbox, person: Person, running: ThreadPoolExecutor
) -> None:
    command, question = pushing(agent, running, person, "denied")
    person.ask("POST", f"/v1/handoffs/{question['id']}/answer", json={"outcome": "deny", "note": "not today"}).raise_for_status()
    refused = command.result(PATIENCE_SECONDS)
    assert (refused.status_code, "denied this: not today" in refused.text) == (403, True)
    again = agent.request("POST", "/v1/bash/exec", json={"command": PUSH.format("denied")})
    assert (again.status_code, "less than 60 seconds ago" in again.text) == (403, True)
    assert (asked(person), "denied" in branches(owned)) == ([], False)


def test_always_is_a_rule_for_that_line_alone(owned: Sandbox, agent: Sandbox, person: Person, running: ThreadPoolExecutor) -> None:
    command, question = pushing(agent, running, person, "always")
    person.ask("POST", f"/v1/handoffs/{question['id']}/answer", json={"outcome": "always"}).raise_for_status()
    assert command.result(PATIENCE_SECONDS).json()["data"]["exit_code"] == 0
    again = agent.request("POST", "/v1/bash/exec", json={"command": PUSH.format("always")})
    assert again.json()["data"]["exit_code"] == 0
    rules = owned.request("GET", "/v1/approvals/policy").json()["data"]["policy"]["rules"]
    assert [(rule["name"], rule["action"]) for rule in rules][1:4] == [("soon", "ask"), ("allowed 1", "allow"), ("push", "ask")]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/bash/exec", {"command": "touch /tmp/forbidden"}),
        ("/v1/bash/exec", {"command": "eval 'touch /tmp/for'\"bidden\""}),
        ("/v1/bash/exec", {"command": "t=touch; $t /tmp/forbidden"}),
        ("/v1/bash/exec", {"command": "echo touch /tmp/forbidden | sh"}),
        ("/v1/shell/exec", {"command": "sudo bash -c 'touch /tmp/forbidden'"}),
        ("/v1/shell/run", {"cmd": "touch /tmp/forbidden"}),
        ("/v1/mcp/sandbox/tools/sandbox_execute_bash", {"cmd": "touch /tmp/forbidden"}),
        ("/v1/mcp/sandbox/tools/sandbox_exec_command", {"cmd": "touch /tmp/forbidden"}),
        ("/v1/nodejs/execute", {"code": "1"}),
    ],
)
def test_what_a_rule_denies_runs_by_no_route(owned: Sandbox, agent: Sandbox, path: str, fields: dict[str, str]) -> None:
    answer = agent.request("POST", path, json=fields)
    assert answer.status_code == 403 or answer.json()["data"]["isError"], answer.text
    assert "denies this" in answer.text
    assert owned.exec("test", "-e", "/tmp/forbidden").code != 0
    assert owned.run("test", "-e", "/tmp/forbidden").code != 0


def test_what_is_typed_in_pieces_is_denied_at_its_end(owned: Sandbox, agent: Sandbox) -> None:
    session = agent.request("POST", "/v1/shell/exec", json={"command": "true"}).json()["data"]["session_id"]
    first = agent.request("POST", "/v1/shell/write", json={"id": session, "input": "touch /tmp/for", "press_enter": False})
    second = agent.request("POST", "/v1/shell/write", json={"id": session, "input": "bidden", "press_enter": True})
    assert (first.status_code, second.status_code) == (200, 403)
    assert owned.run("test", "-e", "/tmp/forbidden").code != 0


def test_a_page_that_a_rule_denies_does_not_open(agent: Sandbox) -> None:
    until(lambda: agent.request("POST", "/v1/browser/page/navigate", json={"url": "http://localhost:9999/"}).status_code == 403)
    refused = agent.request("POST", "/v1/browser/page/navigate", json={"url": "http://localhost:9999/"})
    assert "the rule 'local' denies this" in refused.text
    assert agent.request("POST", "/v1/browser/page/navigate", json={"url": "about:blank"}).status_code == 200


def test_the_policy_is_the_owners(owned: Sandbox, agent: Sandbox) -> None:
    read = owned.request("GET", "/v1/approvals/policy")
    document, etag = read.json()["data"]["policy"], read.headers["ETag"]
    assert agent.request("GET", "/v1/approvals/policy").status_code == 403
    assert agent.request("PUT", "/v1/approvals/policy", json={"rules": []}, headers={"If-Match": "*"}).status_code == 403
    assert owned.request("PUT", "/v1/approvals/policy", json=document).status_code == 428
    assert owned.request("PUT", "/v1/approvals/policy", json=document, headers={"If-Match": '"other"'}).status_code == 412
    assert owned.request("PUT", "/v1/approvals/policy", json={"rules": [{}]}, headers={"If-Match": etag}).status_code == 422
    assert owned.request("PUT", "/v1/approvals/policy", json=document, headers={"If-Match": etag}).status_code == 200
    assert owned.request("POST", "/v1/approvals/tool", json={"server": "a", "tool": "b", "name": "c"}).status_code == 403
