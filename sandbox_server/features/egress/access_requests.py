"""Access that an agent asks for: a person is asked, and the answer becomes a rule."""

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Mapping
from types import TracebackType
from typing import Annotated, Literal, Self

from pydantic import Field

from sandbox_server.core import Call, Conflict, Failure, Model, ResourceExhausted, Tasks, operation
from sandbox_server.core.approval import ALLOWING, AnswerEffect, ApprovalAnswer, ApprovalDecision, ApprovalQuestion, AskApproval
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.protected_addresses import parse_address, protection
from sandbox_server.drivers.egress.secret_users import SecretUsers
from sandbox_server.features.egress.approvals import Asker, GrantedAnswers, effects_of
from sandbox_server.features.egress.grants import EgressDestination, EgressProtocol, HostText, PortNumber, host_of

QUESTION_SECONDS = 600.0
"""How long a person may take."""
MAX_WAIT = 600.0
MAX_KNOWN = 256
"""Requests that are remembered."""
MAX_OPEN_OF_ONE = 8
_PERSONS_OWN = ("a private network", "a shared address of carriers")
"""Protected networks that a person may open to an agent. Metadata services and the machine itself stay closed."""


class RequestAccess(Model):
    host: HostText
    """The name that you need, or an address."""
    port: PortNumber = 443
    protocol: EgressProtocol | None = None
    """What the connection carries. Null: HTTP on port 80, TLS on 443, anything on other ports."""
    reason: Annotated[str, Field(min_length=1, max_length=300)]
    """Why you need it: one sentence for the person who decides."""
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT)] = 0.0
    """Seconds to wait for the decision; 0 answers at once. Ask again with the same host to wait on."""


class AccessRequest(Model):
    id: str
    host: str
    port: int
    protocol: EgressProtocol | None
    status: Literal["allowed", "denied", "waiting"]
    """`waiting`: nobody has decided yet."""
    answer: ApprovalAnswer | None
    """What the person answered: `once` is for minutes, `task` for your task, `always` for ever; null if nobody was asked."""
    rule: str | None
    """The rule that decides."""
    until: float | None
    """When the permission ends, in seconds since the epoch; null if no time ends it."""
    why: str
    """Why it was denied, or what the person said; may be empty."""


class _Asked:
    """A request, and the task that waits for its decision."""

    def __init__(self, shown: AccessRequest) -> None:
        self.shown = shown
        self.deciding: asyncio.Task[None] | None = None


class AccessRequests:
    """Asks a person for agents; an asynchronous context manager. The same request of the same caller is one question."""

    tag = "egress"

    def __init__(self, client: EgressClient, ask: AskApproval, answers: GrantedAnswers, users: SecretUsers) -> None:
        """`users` says which users' programs are the agent's: what is allowed to these needs no question."""
        self._client = client
        self._uid = max(users.programs, default=None)
        self._ask = ask
        self._answers = answers
        self._known: OrderedDict[tuple[object, ...], _Asked] = OrderedDict()
        self._numbers = itertools.count(1)
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    @operation("POST /v1/egress/requests", scope="view", tool="request_access", open_world=True)
    async def request_access(self, request: RequestAccess, call: Call) -> AccessRequest:
        """Ask a person to let your programs reach a host that the egress policy blocks.

        A host that is allowed already is answered so at once. A person answers for minutes, for your task, for ever, or
        not at all; then try the connection again.
        """
        host = host_of(request.host)
        _check(host)
        asked = self._known.get(_key(call.caller.name, host, request))
        if asked is None or asked.deciding is None or asked.deciding.done():
            shown = await self._decided(host, request)
            if shown:
                return shown
            asked = self._begin(call.caller.name, host, request)
        if request.wait and asked.deciding:
            await asyncio.wait([asked.deciding], timeout=request.wait)
        return asked.shown

    async def _decided(self, host: str, request: RequestAccess) -> AccessRequest | None:
        """Return the answer if nobody has to be asked, because the policy allows it already."""
        protocol = request.protocol or {80: "http"}.get(request.port, "tls")
        decided = await self._client.ask("decide", host=host, port=request.port, protocol=protocol, uid=self._uid)
        if decided["action"] != "allow":
            return None
        return _request(self._number(), host, request, "allowed", rule=decided["rule"])

    def _begin(self, caller: str, host: str, request: RequestAccess) -> _Asked:
        waiting = sum(key[0] == caller and bool(each.deciding and not each.deciding.done()) for key, each in self._known.items())
        if waiting >= MAX_OPEN_OF_ONE:
            raise ResourceExhausted(f"at most {MAX_OPEN_OF_ONE} of your requests may wait for an answer", limit=MAX_OPEN_OF_ONE)
        key, asked = _key(caller, host, request), _Asked(_request(self._number(), host, request, "waiting"))
        asked.deciding = self._tasks.start(self._decide(asked, caller, request), name=f"request for {host}")
        self._known[key] = asked
        self._known.move_to_end(key)
        if len(self._known) > MAX_KNOWN:
            self._forget_one()
        return asked

    def _forget_one(self) -> None:
        key = next((key for key, each in self._known.items() if each.deciding is None or each.deciding.done()), None)
        if key:
            del self._known[key]

    async def _decide(self, asked: _Asked, caller: str, request: RequestAccess) -> None:
        place = EgressDestination(host=asked.shown.host, port=request.port, protocol=request.protocol)
        effects = effects_of(place, None, Asker(), self._answers.task_of(caller), self._answers.durations)
        decision = await self._ask(_question(asked.shown, caller, request.reason, effects))
        more: dict[str, object] = {"status": "denied", "why": _why(decision)}
        if decision.answer:
            more["answer"] = decision.answer
        if decision.answer in ALLOWING:
            try:
                granted = await self._answers.put(place, decision.answer, decision.by, task=self._answers.task_of(caller))
                more |= {"status": "allowed", "rule": granted.rule, "until": granted.grant.until if granted.grant else None}
            except Failure as failure:
                more["why"] = f"it was allowed, and could not be put in force: {failure.message}"
        asked.shown = asked.shown.model_copy(update=more)

    def _number(self) -> str:
        return f"r{next(self._numbers)}"


def _check(host: str) -> None:
    """Raise Conflict for an address that no approval opens."""
    try:
        block = protection(parse_address(host))
    except ValueError:
        return
    if block and block.kind not in _PERSONS_OWN:
        raise Conflict(f"{host} belongs to {block.kind}, which is never opened on request", host=host)


def _request(
    number: str, host: str, request: RequestAccess, status: Literal["allowed", "waiting"], rule: str | None = None
) -> AccessRequest:
    return AccessRequest(
        id=number, host=host, port=request.port, protocol=request.protocol, status=status, answer=None, rule=rule, until=None, why=""
    )


def _question(shown: AccessRequest, caller: str, reason: str, effects: Mapping[ApprovalAnswer, AnswerEffect]) -> ApprovalQuestion:
    details = {"host": shown.host, "port": str(shown.port), "protocol": shown.protocol or "the usual one", "reason": reason}
    return ApprovalQuestion(
        subject="network",
        reason=f"{caller} asks for access to {shown.host}:{shown.port}.",
        details=details,
        asked_by=caller,
        seconds=QUESTION_SECONDS,
        effects=effects,
    )


def _why(decision: ApprovalDecision) -> str:
    if decision.outcome == "timeout":
        return "nobody answered in time"
    return decision.why


def _key(caller: str, host: str, request: RequestAccess) -> tuple[object, ...]:
    return caller, host, request.port, request.protocol
