"""Approvals of connections: rules that ask, and agents that ask for access, become questions to a person, and answers become rules."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.core.approval import ON_DESKTOP, AnswerEffect, ApprovalAnswer, ApprovalQuestion, AskApproval
from sandbox_server.core.entity_tags import ANY_VERSION
from sandbox_server.drivers.egress.body_summary import body_detail
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.secret_users import SecretUsers
from sandbox_server.features.egress.attribution import ConnectionAttribution
from sandbox_server.features.egress.connections import Connection
from sandbox_server.features.egress.grants import EVERYBODY, EgressDestination, EgressGrant, EgressGrants, GrantScope, destination_rule
from sandbox_server.features.egress.merge_patch import PolicyDocument, rule_name
from sandbox_server.features.egress.policy_document import PolicyInForce
from sandbox_server.features.egress.tasks import RunningTasks
from sandbox_server.timeouts import scaled

LOOKUP_SECONDS = scaled(0.5)
"""How long the program of a connection that asks is looked up before a person is asked."""
MIN_SECONDS = 1.0
"""A question that ends sooner is not asked any more."""
PROGRAM = "a program in the box"
"""Who asks, if no session is known: a program names its session itself, so invented ones are one asker."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_NAME = 200
MAX_PATH = 200
"""Characters of a path that a rule is made for."""
_log = logging.getLogger(__name__)
_GLOB = frozenset("*?[]{}\\")


@dataclass(frozen=True, slots=True)
class GrantDurations:
    """How long an answer holds, in seconds."""

    once: float
    task: float
    """Of `task`, where no task is known."""


@dataclass(frozen=True, slots=True)
class Granted:
    """What an answer has put in force: a rule, for a time, or in the policy for ever."""

    rule: str
    grant: EgressGrant | None = None


class GrantedAnswers:
    """Turns an answer into a rule."""

    def __init__(
        self,
        policy: PolicyInForce,
        grants: EgressGrants,
        tasks: RunningTasks,
        durations: GrantDurations,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._policy = policy
        self._grants = grants
        self._tasks = tasks
        self.durations = durations
        self._now = now

    async def put(
        self,
        place: EgressDestination,
        answer: ApprovalAnswer,
        by: str,
        *,
        task: str | None,
        action: str = "allow",
        scope: GrantScope = EVERYBODY,
    ) -> Granted:
        """Put the rule of an answer in force: `once`, `task`, `always` or `deny`. Raises Failure."""
        denies = answer == "deny" or action == "deny"
        if answer == "always":
            return await self._always(place, by, always_rule(place, scope, denies=denies))
        if answer == "task" and task:
            grant = await self._grants.add(place, by, action="deny" if denies else "allow", task=task, scope=scope)
        else:
            seconds = self.durations.task if answer == "task" else self.durations.once
            until = self._now() + seconds
            grant = await self._grants.add(place, by, action="deny" if denies else "allow", until=until, scope=scope)
        return Granted(grant.rule, grant)

    async def _always(self, place: EgressDestination, by: str, rule: Mapping[str, Any]) -> Granted:
        name = rule["name"]

        def add(document: PolicyDocument) -> PolicyDocument:
            nonlocal name
            rules = document.get("rules", [])
            used = {rule_name(number, each) for number, each in enumerate(rules)}
            name = _unused(name, used)
            return {**document, "rules": [{**rule, "name": name}, *rules]}

        await self._policy.change(by, "always", add, ANY_VERSION, place)
        return Granted(name)

    def task_of(self, caller: str | None) -> str | None:
        """Return the task that an answer for a caller is for."""
        return self._tasks.of(caller) if caller else None


def _unused(name: str, used: set[str]) -> str:
    found, number = name, 2
    while found in used:
        found, number = f"{name} ({number})", number + 1
    return found


class ConnectionQuestions:
    """Asks a person about each question of the egress process, and gives it the answer; an asynchronous context manager."""

    def __init__(
        self,
        client: EgressClient,
        ask: AskApproval,
        answers: GrantedAnswers,
        attribution: ConnectionAttribution,
        caller_of: Callable[[str], str | None],
        users: SecretUsers,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`caller_of` gives the caller that has used a session last. `users` tells the agent's programs and the desktop's apart."""
        self._client = client
        self._ask = ask
        self._answers = answers
        self._attribution = attribution
        self._caller_of = caller_of
        self._users = users
        self._now = now
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def begin_anew(self) -> None:
        """Withdraw all questions: those that are still open are told again."""
        for asking in list(self._asked.values()):
            asking.cancel()
        self._asked.clear()

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take an event of the egress process."""
        if event.get("event") == "ask" and event["ask"] not in self._asked:
            self._asked[event["ask"]] = self._tasks.start(self._decide(dict(event)), name=f"question about {event['destination']}")
        elif event.get("event") == "answered":
            self._asked.pop(event["ask"], None)  # nobody answered in time: the person's question ends by its own clock, as timed out
        elif event.get("event") == "lost":
            for number in self._asked.keys() - set(event["asking"]):
                self._withdraw(number)

    def _withdraw(self, number: int) -> None:
        if asking := self._asked.pop(number, None):
            asking.cancel()

    async def _decide(self, event: dict[str, Any]) -> None:
        connection = Connection(
            id=0,
            at=self._now(),
            host=event["host"],
            port=event["port"],
            protocol=event["protocol"],
            rule=event["rule"],
            action="deny",
            request=event["request"],
            uid=event["uid"],
            inode=event["inode"],
            private=event.get("private"),
        )
        if connection.private is None:
            self._attribution.want(connection)
            await self._attribution.settled(connection, LOOKUP_SECONDS)
        seconds = event["until"] - self._now()
        if seconds < MIN_SECONDS:
            return
        caller = self._caller_of(connection.session or "")
        request = ShownRequest.of(event)
        asker = Asker.of(connection.uid, self._users)
        effects = effects_of(_place_of(connection), request, asker, self._answers.task_of(caller), self._answers.durations)
        if connection.private is not None:
            effects = {"once": _private_effect(connection, request)}
        question = question_of(connection, request, asker, seconds, caller, effects)
        decision = await self._ask(question)
        while decision.joined and decision.outcome == "once" and event["by_request"]:
            decision = await self._ask(question)  # that allowed the request of whoever asked first
        told_by_rule = request is None or decision.answer in ("task", "always")
        if decision.answer and told_by_rule and connection.private is None:  # of private time no rule tells: the egress process remembers
            scope = request.scope(asker.users) if request else GrantScope(users=asker.users)
            task = self._answers.task_of(caller)
            with _logged("an answer"):
                await self._answers.put(_place_of(connection), decision.answer, decision.by, task=task, scope=scope)
        self._asked.pop(event["ask"], None)  # its end is no reason to end this
        with _logged("the answer to a connection"):
            await self._client.ask("answer", ask=event["ask"], allow=decision.allowed)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log a failure to put something in force; nobody else waits for it."""
    try:
        yield
    except Failure as failure:
        _log.warning("%s could not be put in force: %s", what, failure.message)


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A request that a rule asks about, as the egress process tells of it."""

    method: str
    target: str
    body: Mapping[str, Any] | None
    websocket: bool
    site: str
    """The host that it asks for, where that is not the one that is connected to; else empty."""

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> "ShownRequest | None":
        """Return the request of a question; None if it is about a connection."""
        if not event["by_request"]:
            return None
        site = event["site"] if event["site"].lower().rstrip(".") != event["host"] else ""
        return cls(event["method"], event["target"], event["body"], event["websocket"], site)

    @property
    def safe(self) -> bool:
        """Whether sending it again changes nothing (RFC 9110, 9.2.1), and a rule can name it alone."""
        return self.method in SAFE_METHODS and self.body is None and not self.websocket and not self.site

    @property
    def path(self) -> str:
        """Its path, if a rule of the policy can name it alone; else empty."""
        path = self.target.partition("?")[0]
        return path if path.startswith("/") and len(path) <= MAX_PATH and not _GLOB & set(path) else ""

    def scope(self, users: tuple[int, ...] = ()) -> GrantScope:
        """Return what a rule for it is for, which some users send."""
        return GrantScope(self.method, self.target, users)

    def details(self) -> dict[str, str]:
        """Return what a person is shown of it: the whole target, and its body as text, or what identifies that."""
        found = {"request": f"{self.method} {self.target}"}
        if self.site:
            found["site"] = self.site
        if self.websocket:
            found["opens"] = "a WebSocket, with all that is sent in it"
        if self.body is not None:
            found["body"] = body_detail(self.body)
        return found


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose programs ask, and get what is allowed for a time."""

    users: tuple[int, ...] = ()
    """Their ids; empty: everybody."""
    name: str = ""
    """`agent`, `desktop`, or the id of another user; empty: not known."""

    @classmethod
    def of(cls, uid: int | None, users: SecretUsers) -> "Asker":
        """Return who asks by a connection of a user."""
        if uid is None:
            return cls()
        if uid in users.programs:
            return cls(tuple(sorted(users.programs)), "agent")
        return cls((uid,), "desktop" if uid == users.browser else str(uid))

    def __str__(self) -> str:
        known = {"": "every program", "agent": "the agent's programs", "desktop": "the desktop's programs"}
        return known.get(self.name, f"programs of the user {self.name}")


def question_of(
    connection: Connection,
    request: ShownRequest | None,
    asker: Asker,
    seconds: float,
    caller: str | None,
    effects: Mapping[ApprovalAnswer, AnswerEffect],
) -> ApprovalQuestion:
    """Return the question about a connection, or about a request of one: in private time to one person."""
    details = {
        "host": connection.host,
        "port": str(connection.port),
        "protocol": connection.protocol,
        "program": connection.process.command if connection.process else "unknown",
        "session": connection.session or "unknown",
        "user": asker.name or "unknown",
        **(request.details() if request else {}),
    }
    return ApprovalQuestion(
        subject="network",
        reason=f"A program wants to {'send a request' if request else 'connect'} to {connection.place}.",
        details=details,
        asked_by=ON_DESKTOP if asker.name == "desktop" or connection.private is not None else caller or PROGRAM,
        rule=connection.rule,
        seconds=seconds,
        answers=(*effects, "deny"),
        effects=effects,
        private=connection.private,
    )


def effects_of(
    place: EgressDestination, request: ShownRequest | None, asker: Asker, task: str | None, durations: GrantDurations
) -> dict[ApprovalAnswer, AnswerEffect]:
    """Return what each answer that allows it allows. A request that may change something is allowed once, or by a rule."""
    rule = json.dumps(always_rule(place, request.scope() if request else EVERYBODY, denies=False), ensure_ascii=False)
    while_task, seconds = (f" while the task {task} runs", None) if task else ("", durations.task)
    if request is None:
        connections = f"Connections of {asker} to {place.host}{f':{place.port}' if place.port else ''}"
        return {
            "once": AnswerEffect(f"{connections}.", durations.once),
            "task": AnswerEffect(f"{connections}{while_task}.", seconds),
            "always": AnswerEffect("What this rule says, for every program.", rule=rule),
        }
    found: dict[ApprovalAnswer, AnswerEffect] = {"once": AnswerEffect("This request alone.")}
    if request.safe:
        found["task"] = AnswerEffect(f"The same request of {asker}{while_task}.", seconds)
    if request.path:
        found["always"] = AnswerEffect("What this rule says, for every program, with any query and body.", rule=rule)
    return found


def _private_effect(connection: Connection, request: ShownRequest | None) -> AnswerEffect:
    """Return what a person in private mode allows: nothing that anybody hears of when that time is over."""
    return AnswerEffect("This request alone." if request else f"The desktop's connections to {connection.place} until private mode ends.")


def always_rule(place: EgressDestination, scope: GrantScope, *, denies: bool) -> dict[str, Any]:
    """Return the rule of the policy that `always` writes."""
    name = f"{'denied' if denies else 'approved'} {place.host}{f':{place.port}' if place.port else ''}"[:MAX_NAME]
    request = {"methods": [scope.method], "paths": [scope.target.partition("?")[0]]} if scope.method else {}
    return {"name": name, **destination_rule(place, "deny" if denies else "allow"), **request}


def _place_of(connection: Connection) -> EgressDestination:
    return EgressDestination(host=connection.host, port=connection.port, protocol=_protocol(connection.protocol))


def _protocol(text: str) -> Any:
    return text if text in ("http", "tls", "tcp") else None
