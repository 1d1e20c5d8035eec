"""Approvals of connections: rules that ask, and agents that ask for access, become questions to a person, and answers become rules."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.core.approval import ApprovalAnswer, ApprovalDecision, ApprovalQuestion, AskApproval
from sandbox_server.core.entity_tags import ANY_VERSION
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.features.egress.attribution import ConnectionAttribution
from sandbox_server.features.egress.connections import Connection
from sandbox_server.features.egress.grants import EgressDestination, EgressGrant, EgressGrants, destination_rule
from sandbox_server.features.egress.merge_patch import PolicyDocument, rule_name
from sandbox_server.features.egress.policy_document import PolicyInForce
from sandbox_server.features.egress.tasks import RunningTasks
from sandbox_server.timeouts import scaled

LOOKUP_SECONDS = scaled(0.5)
"""How long the program of a connection that asks is looked up before a person is asked."""
MIN_SECONDS = 1.0
"""A question that ends sooner is not asked any more."""
PROGRAM = "a program in the box"
"""Who asks, if no session is known."""
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
        self._durations = durations
        self._now = now

    async def put(
        self,
        place: EgressDestination,
        answer: ApprovalAnswer,
        by: str,
        *,
        task: str | None,
        action: str = "allow",
        request: tuple[str, str] | None = None,
    ) -> Granted:
        """Put the rule of an answer in force: `once`, `task`, `always` or `deny`. Raises Failure."""
        denies = answer == "deny" or action == "deny"
        if answer == "always":
            return await self._always(place, by, denies=denies, request=request)
        if answer == "task" and task:
            grant = await self._grants.add(place, by, action="deny" if denies else "allow", task=task, request=request)
        else:
            seconds = self._durations.task if answer == "task" else self._durations.once
            until = self._now() + seconds
            grant = await self._grants.add(place, by, action="deny" if denies else "allow", until=until, request=request)
        return Granted(grant.rule, grant)

    async def _always(self, place: EgressDestination, by: str, *, denies: bool, request: tuple[str, str] | None) -> Granted:
        rule = destination_rule(place, "deny" if denies else "allow")
        if request:
            rule |= {"methods": [request[0]], "paths": [request[1]]}
        name = f"{'denied' if denies else 'approved'} {place.host}{f':{place.port}' if place.port else ''}"

        def add(document: PolicyDocument) -> PolicyDocument:
            nonlocal name
            rules = document.get("rules", [])
            used = {rule_name(number, each) for number, each in enumerate(rules)}
            name = _unused(name[:200], used)
            return {**document, "rules": [{"name": name, **rule}, *rules]}

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
        now: Callable[[], float] = time.time,
    ) -> None:
        """`caller_of` gives the caller that has used a session last."""
        self._client = client
        self._ask = ask
        self._answers = answers
        self._attribution = attribution
        self._caller_of = caller_of
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
        )
        self._attribution.want(connection)
        await self._attribution.settled(connection, LOOKUP_SECONDS)
        seconds = event["until"] - self._now()
        if seconds < MIN_SECONDS:
            return
        caller = self._caller_of(connection.session or "")
        decision = await self._ask(question_of(connection, seconds, caller))
        await self._give(event, connection, decision, caller)

    async def _give(self, event: Mapping[str, Any], connection: Connection, decision: ApprovalDecision, caller: str | None) -> None:
        if decision.answer:
            place = EgressDestination(host=connection.host, port=connection.port, protocol=_protocol(connection.protocol))
            request = _request_of(connection.request) if event["by_request"] else None
            if not event["by_request"] or request:
                with _logged("an answer"):
                    await self._answers.put(place, decision.answer, decision.by, task=self._answers.task_of(caller), request=request)
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


def question_of(connection: Connection, seconds: float, caller: str | None) -> ApprovalQuestion:
    """Return the question about a connection."""
    details = {
        "host": connection.host,
        "port": str(connection.port),
        "protocol": connection.protocol,
        "program": connection.process.command if connection.process else "unknown",
        "session": connection.session or "unknown",
        "request": connection.request or "unknown",
    }
    return ApprovalQuestion(
        subject="network",
        reason=f"A program wants to connect to {connection.place}.",
        details=details,
        asked_by=caller or PROGRAM,  # a program names its session itself: invented ones are one asker
        rule=connection.rule,
        seconds=seconds,
    )


def _request_of(text: str) -> tuple[str, str] | None:
    """Return method and path for a rule; None if they are no literal path of a rule."""
    method, _, path = text.partition(" ")
    path = path.partition("?")[0]
    return None if not path.startswith("/") or len(path) >= 200 or _GLOB & set(path) else (method, path)


def _protocol(text: str) -> Any:
    return text if text in ("http", "tls", "tcp") else None
