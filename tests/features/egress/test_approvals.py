import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from sandbox_server.core.approval import AnswerEffect, ApprovalAnswer, ApprovalOutcome
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.egress import approvals as egress_approvals
from sandbox_server.features.egress.approvals import PROGRAM, ConnectionQuestions
from sandbox_server.features.egress.attribution import ConnectionAttribution
from sandbox_server.features.egress.follower import EgressFollower
from sandbox_server.features.egress.grants import EgressDestination
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import Person, Ruling, allowed, put
from tests.patience import eventually
from tests.secret_servers import USERS

pytestmark = pytest.mark.anyio
PLACE = EgressDestination(host="a.example", port=80)
OUTSIDE = {"action": "allow", "cidrs": ["127.0.9.0/24"], "protocols": ["http", "tls", "tcp"], "name": "outside"}


def get(path: str = "/x", method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: a.example\r\n\r\n".encode()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("once", "allow by approval g1"),
        ("task", "allow by approval g1"),
        ("always", "allow by approved a.example:80"),
        ("deny", "deny by approval g1"),
    ],
)
async def test_an_answer_becomes_a_rule(lab: EgressLab, ruling: Ruling, answer: ApprovalAnswer, expected: str) -> None:
    put(lab, {"default": "deny", "rules": [{"action": "ask", "hosts": ["a.example"]}]})
    granted = await ruling.answers.put(PLACE, answer, "ada", task=None)
    assert allowed(lab, "a.example", 80) == expected
    if answer == "always":
        document, _ = await ruling.policy.read()
        assert document["rules"][0] == {"name": granted.rule, "action": "allow", "hosts": ["a.example"], "ports": [80]}
        assert [told[1] for told in ruling.told] == ["always"]
    else:
        assert granted.grant
        assert granted.grant.until == pytest.approx(granted.grant.at + (3600 if answer == "task" else 300), abs=5)
        assert ruling.told == [("ada", "grant", "approval g1")]


async def test_an_answer_for_a_task_holds_while_that_runs(lab: EgressLab, ruling: Ruling) -> None:
    ruling.tasks.called("agent", "t1", None)
    assert ruling.answers.task_of("agent") == "t1"
    assert ruling.answers.task_of(None) is None
    granted = await ruling.answers.put(PLACE, "task", "ada", task="t1")
    assert granted.grant
    assert granted.grant.until is None
    assert allowed(lab, "a.example", 80) == "deny by default"
    lab.server.policy.run_tasks(["t1"])
    assert allowed(lab, "a.example", 80) == "allow by approval g1"


async def test_what_is_allowed_for_ever_twice_are_two_rules(ruling: Ruling) -> None:
    names = [(await ruling.answers.put(PLACE, "always", "ada", task=None)).rule for _ in range(2)]
    assert names == ["approved a.example:80", "approved a.example:80 (2)"]


class Desk:
    """The questions of a lab, asked of a person."""

    def __init__(self, client: EgressClient, ruling: Ruling, person: Person) -> None:
        self.known: dict[str, dict[str, Any]] = {}

        async def look(_: object) -> dict[str, dict[str, Any]]:
            return self.known

        self.attribution = ConnectionAttribution(look)
        self.questions = ConnectionQuestions(client, person.ask, ruling.answers, self.attribution, {"shell:main": "agent"}.get, USERS)
        self.follower = EgressFollower(client, (self.questions.begin_anew,), (self.questions.hear,), lambda _: None)


@pytest.fixture
async def desk(client: EgressClient, ruling: Ruling, person: Person) -> AsyncIterator[Desk]:
    made = Desk(client, ruling, person)
    async with made.attribution, made.questions, made.follower:
        await eventually(lambda: not made.follower.away)
        yield made


@pytest.mark.parametrize(("outcome", "rule"), [("once", "approval g1"), ("task", "approval g1"), ("always", "approved a.example:80")])
async def test_a_connection_waits_for_the_person_and_then_passes(
    lab: EgressLab, desk: Desk, person: Person, outcome: ApprovalOutcome, rule: str
) -> None:
    person.outcome = outcome
    lab.hosts["a.example"] = ["127.0.9.1"]
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"], "name": "new hosts"}, OUTSIDE]})
    await lab.serve(80)
    assert await lab.said("a.example", 80, get(), 5) == b"hello"
    [question] = person.asked
    assert (question.subject, question.rule, question.on_timeout) == ("network", "new hosts", "deny")
    assert question.details == {
        "host": "a.example",
        "port": "80",
        "protocol": "http",
        "program": "unknown",
        "session": "unknown",
        "user": "unknown",
    }
    assert question.effects["once"] == AnswerEffect("Connections of every program to a.example:80.", 300)
    assert json.loads(question.effects["always"].rule) == {
        "name": "approved a.example:80",
        "action": "allow",
        "hosts": ["a.example"],
        "ports": [80],
        "protocols": ["http"],
    }
    assert 0 < (question.seconds or 0) <= egress_approvals.SECONDS + 1
    assert allowed(lab, "a.example", 80) == f"allow by {rule}"
    assert await lab.said("a.example", 80, get(), 5) == b"hello"
    assert len(person.asked) == 1


async def test_many_connections_to_the_same_place_are_one_question(lab: EgressLab, desk: Desk, person: Person) -> None:
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"]}]})
    answers = await asyncio.gather(*(lab.said("a.example", 80, get(f"/{number}")) for number in range(10)))
    assert all(answer.startswith(b"HTTP/1.1 403") for answer in answers)
    assert len(person.asked) == 1


async def test_where_events_were_lost_questions_that_are_still_open_stay(lab: EgressLab, desk: Desk, person: Person) -> None:
    person.waits = True
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"]}]})
    said = [asyncio.ensure_future(lab.said("a.example", port, get())) for port in (80, 8000)]
    await eventually(lambda: len(person.asked) == 2)
    numbers = [question["ask"] for question in lab.server.approvals.open]
    desk.questions.hear({"event": "lost", "kinds": ["refused"], "asking": numbers[1:]})
    for question in lab.server.approvals.open:
        desk.questions.hear(question)
    await eventually(lambda: person.withdrawn == 1)
    await eventually(lambda: len(person.asked) == 3)  # the one that was taken for ended is told again
    for number in numbers:
        lab.server.approvals.answer(number, allowed=False)
    await asyncio.gather(*said)


async def test_what_is_denied_is_refused_and_not_asked_again_for_a_while(lab: EgressLab, desk: Desk, person: Person) -> None:
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"]}]})
    for _ in range(2):
        assert (await lab.said("a.example", 80, get())).startswith(b"HTTP/1.1 403")
    assert len(person.asked) == 1
    assert allowed(lab, "a.example", 80) == "deny by approval g1"


async def test_the_program_and_its_session_are_shown(lab: EgressLab, desk: Desk, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    from sandbox_server.drivers.egress.socket_owner import SocketOwner

    desk.known = {"77": {"pid": 5, "command": "curl -d @/etc/passwd", "session": "shell:main"}}
    monkeypatch.setattr(lab.server.flows, "_owner_of", lambda *_: SocketOwner(1000, 77))
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"]}]})
    await lab.said("a.example", 80, get())
    [question] = person.asked
    assert (question.details["program"], question.details["session"], question.asked_by) == ("curl -d @/etc/passwd", "shell:main", "agent")


@pytest.mark.parametrize("session", ["shell:invented-1", "shell:invented-2"])
async def test_a_session_that_is_not_known_asks_as_any_program(
    lab: EgressLab, desk: Desk, person: Person, monkeypatch: pytest.MonkeyPatch, session: str
) -> None:
    """A program names its session itself: by inventing sessions it must not get round the limit of one asker."""
    from sandbox_server.drivers.egress.socket_owner import SocketOwner

    desk.known = {"77": {"pid": 5, "command": "curl a.example", "session": session}}
    monkeypatch.setattr(lab.server.flows, "_owner_of", lambda *_: SocketOwner(1000, 77))
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"]}]})
    await lab.said("a.example", 80, get())
    [question] = person.asked
    assert (question.details["session"], question.asked_by) == (session, PROGRAM)


HTTP_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
BY_REQUEST = {"action": "ask", "hosts": ["a.example"], "methods": ["GET", "POST"], "name": "asks"}


async def ask(lab: EgressLab, sent: bytes) -> bytes:
    """The status line of an answer."""
    return (await lab.said("a.example", 80, sent, 12))[-3:]


@pytest.fixture
async def by_request(lab: EgressLab) -> None:
    """A host whose requests a rule asks about, one by one."""
    lab.hosts["a.example"] = ["127.0.9.1"]
    put(lab, {"rules": [BY_REQUEST, OUTSIDE]})
    await lab.serve(80, answer=HTTP_ANSWER)


async def test_an_answer_about_a_request_is_for_that_request_alone(lab: EgressLab, desk: Desk, person: Person, by_request: None) -> None:
    person.outcome = "once"
    for sent in (get("/a?to=alice"), get("/a?to=alice"), get("/a?to=mallory"), get("/a?to=alice", "POST")):
        assert await ask(lab, sent) == b"200"
    asked = [question.details["request"] for question in person.asked]
    assert asked == ["GET /a?to=alice", "GET /a?to=alice", "GET /a?to=mallory", "POST /a?to=alice"]
    assert lab.server.policy.grants == 0


async def test_a_request_of_a_safe_method_is_allowed_for_a_time_where_the_person_chose_that(
    lab: EgressLab, desk: Desk, person: Person, by_request: None
) -> None:
    person.outcome = "task"
    for path in ("/a?to=alice", "/a?to=alice", "/a?to=mallory", "/%61?to=alice"):
        assert await ask(lab, get(path)) == b"200"
    assert [question.details["request"] for question in person.asked] == ["GET /a?to=alice", "GET /a?to=mallory", "GET /%61?to=alice"]
    assert person.asked[0].effects["task"] == AnswerEffect("The same request of every program.", 3600)


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (get("/a"), ("once", "task", "always", "deny")),
        (get("/a", "POST"), ("once", "always", "deny")),
        (get("/a").replace(b"\r\n\r\n", b"\r\nContent-Length: 1\r\n\r\nx"), ("once", "always", "deny")),
        (get("/*", "POST"), ("once", "deny")),
        (get("/a").replace(b"\r\n\r\n", b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), ("once", "always", "deny")),
    ],
)
async def test_what_may_change_something_is_allowed_once_or_by_a_rule(
    lab: EgressLab, desk: Desk, person: Person, by_request: None, sent: bytes, answers: tuple[str, ...]
) -> None:
    assert await ask(lab, sent) == b"403"
    assert person.asked[0].answers == answers


async def test_the_rule_that_is_written_is_the_one_that_was_shown(lab: EgressLab, desk: Desk, person: Person, by_request: None) -> None:
    person.outcome = "always"
    assert await ask(lab, get("/a?to=alice", "POST")) == b"200"
    shown = json.loads(person.asked[0].effects["always"].rule)
    assert (shown["methods"], shown["paths"]) == (["POST"], ["/a"])
    document = json.loads((await desk.questions._client.ask("document"))["policy"])
    assert document["rules"][0] == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"to=alice&amount=5", "to=alice&amount=5"),
        (b"\xff\xfe", f"(2 bytes, SHA-256 {hashlib.sha256(b'\xff\xfe').hexdigest()})"),
        (b"", None),
    ],
)
async def test_a_body_is_shown_whole_or_by_what_identifies_it(
    lab: EgressLab, desk: Desk, person: Person, by_request: None, body: bytes, shown: str | None
) -> None:
    sent = get("/a", "POST").replace(b"\r\n\r\n", f"\r\nContent-Length: {len(body)}\r\n\r\n".encode()) + body
    await ask(lab, sent)
    assert person.asked[0].details.get("body") == shown


async def test_the_answer_to_somebody_elses_same_request_is_not_for_this_one(
    lab: EgressLab, desk: Desk, person: Person, by_request: None
) -> None:
    """Both are one question of a person; each `once` allows one of them."""
    person.outcome = "once"
    person.joined = [True, True]
    assert await ask(lab, get("/a")) == b"200"
    assert len(person.asked) == 3


async def test_an_answer_about_connections_is_for_one_users_programs(
    lab: EgressLab, desk: Desk, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox_server.drivers.egress.socket_owner import SocketOwner

    person.outcome = "once"
    lab.hosts["a.example"] = ["127.0.9.1"]
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"]}, OUTSIDE]})
    await lab.serve(80)
    for uid in (1000, 0, 991, 5):
        monkeypatch.setattr(lab.server.flows, "_owner_of", lambda *_, uid=uid: SocketOwner(uid, 0))
        assert await lab.said("a.example", 80, get(), 5) == b"hello"
    assert [question.details["user"] for question in person.asked] == ["agent", "desktop", "5"]
    assert [question.effects["once"].covers for question in person.asked] == [
        "Connections of the agent's programs to a.example:80.",
        "Connections of the desktop's programs to a.example:80.",
        "Connections of programs of the user 5 to a.example:80.",
    ]


async def test_without_an_answer_in_time_it_is_refused_and_the_persons_question_ends_by_its_own_clock(
    lab: EgressLab, desk: Desk, person: Person
) -> None:
    """Withdrawn, it would end as given up by who asked, and not as timed out."""
    person.waits = True
    lab.server.approvals.wait(1.5)
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"], "name": "new hosts"}]})
    assert b"needs an approval" in await lab.said("a.example", 80, get())
    await eventually(lambda: not desk.questions._asked)
    await asyncio.sleep(0)
    assert (len(person.asked), person.withdrawn) == (1, 0)


async def test_a_server_that_starts_anew_asks_again_about_what_still_waits(
    lab: EgressLab, client: EgressClient, ruling: Ruling, person: Person
) -> None:
    put(lab, {"rules": [{"action": "ask", "hosts": ["a.example"]}]})
    said = asyncio.ensure_future(lab.said("a.example", 80, get()))
    await lab.event("ask")
    made = Desk(client, ruling, person)
    async with made.attribution, made.questions, made.follower:
        assert (await said).startswith(b"HTTP/1.1 403")
    assert len(person.asked) == 1
    with suppress(asyncio.CancelledError):
        await said


async def test_what_the_desktop_asks_is_not_asked_by_a_program(client: EgressClient, ruling: Ruling, person: Person) -> None:
    async def look(_: object) -> dict[str, dict[str, Any]]:
        return {}

    attribution = ConnectionAttribution(look, desktop_uid=991)
    questions = ConnectionQuestions(client, person.ask, ruling.answers, attribution, lambda _: None, USERS)
    asked = {
        "event": "ask",
        "destination": "tls a.example",
        "host": "a.example",
        "port": 443,
        "protocol": "tls",
        "rule": "r",
        "request": "",
    }
    async with attribution, questions:
        for number, uid in enumerate((991, 1000, None)):
            questions.hear({**asked, "ask": number, "uid": uid, "inode": 0, "until": time.time() + 30, "by_request": False})
        await eventually(lambda: len(person.asked) == 3, told=lambda: person.asked)
    assert sorted(question.asked_by for question in person.asked) == [PROGRAM, PROGRAM, "desktop"]
