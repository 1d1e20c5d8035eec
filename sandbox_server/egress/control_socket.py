"""The control socket of the egress process: one JSON object a line, both ways, for the API alone.

| request | answer |
|---|---|
| `{"op": "policy", "policy": "{...}"}`, JSON text | `{"ok": {"cut": 3}}`; or `refused` with `errors` of pointer and message |
| `{"op": "document"}` | `{"ok": {"policy": "{...}"}}`: the text of the document in force |
| `{"op": "grants", "rules": [...]}` | `{"ok": {"cut": 0}}`: rules of approvals in front of the document, in the place of the earlier ones |
| `{"op": "tasks", "running": ["t1"]}` | `{"ok": {"cut": 0}}` |
| `{"op": "decide", "host": "a.example", "port": 443, "uid": 1000}, `uid` optional | `{"ok": {"action": "allow", "rule": "rule 0", ...}}` |
| `{"op": "upstream", "url": "http://user:password@host:port", "excludes": [], "includes": []}`, `url` null for none | `{"ok": {}}` |
| `{"op": "status"}` | counts |
| `{"op": "flows", "after": 0}` | what is relayed now, at most 1000, in the order of their numbers, of which all are above `after` |
| `{"op": "answer_within", "seconds": 30}` | `{"ok": {}}`: how long connections wait for an answer from now on |
| `{"op": "answer", "ask": 7, "allow": true}` | `{"ok": {"answered": true}}` |
| `{"op": "private", "person": "ann", "users": [991]}`, `person` null for nobody | `{"ok": {}}` |
| `{"op": "secrets", ...}` and others | as `secret_operations` says |
| `{"op": "follow", "name": "connections"}` | `{"ok": {}}`, then one event a line, the questions that are open first |

A follower with a name is sent what has not arrived under that name yet, from the start of the process on. Behind events
come lines `{"up_to": 12}`, and it answers `{"acknowledged": 12}` once it has dealt with them. One without a name is sent what
happens from now on, and answers nothing. Where events were lost, an event `lost` has their `kinds`, and the
numbers of the questions that are open, which come again behind it. Events, flows and questions of private time have the person
as `private` whom alone they may be told to.
"""

import asyncio
import ctypes
import itertools
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sandbox_server.drivers.egress.policy import AppProtocol, Destination
from sandbox_server.drivers.egress.policy_document import MAX_BYTES, EgressPolicyError, parse_policy, read_grants
from sandbox_server.egress.approvals import Approvals
from sandbox_server.egress.current_policy import CurrentPolicy
from sandbox_server.egress.egress_flow import EgressFlows
from sandbox_server.egress.flow_events import FlowEvent, FlowEventFollower, FlowEvents, TooManyFollowers

MAX_LINE = 2 * MAX_BYTES + 4096
"""Limit in bytes of a request: a document, whose text JSON has escaped once more."""
LARGE_REQUEST = 64 << 10
"""Bytes of a request after which freed memory goes back to the machine: a policy of 10,000 rules leaves 3 MB."""
LOOK_SECONDS = 10.0
"""How often it is looked whether a follower has hung up while nothing happens."""
MAX_LISTED = 1000
"""Flows of one answer."""

_libc = ctypes.CDLL(None)

type Answer = Mapping[str, object]


class ControlSocket:
    """Serves the socket. `status` adds what the caller knows to the status, `more` are further operations."""

    def __init__(
        self,
        policy: CurrentPolicy,
        flows: EgressFlows,
        events: FlowEvents,
        approvals: Approvals,
        status: Callable[[], Answer] = dict,
        more: Mapping[str, Callable[[Mapping[str, Any]], Answer]] | None = None,
    ) -> None:
        self._policy = policy
        self._flows = flows
        self._events = events
        self._approvals = approvals
        self._status = status
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], Answer]] = {
            "policy": self._replace,
            "document": lambda _: {"policy": self._policy.text()},
            "grants": self._grant,
            "tasks": self._run_tasks,
            "decide": self._decide,
            "status": self._tell_status,
            "flows": self._list_flows,
            "answer_within": self._answer_within,
            "answer": self._answer,
            **(more or {}),
        }

    async def listen(self, path: str) -> asyncio.Server:
        """Listen on a path that this process's user and the group of its directory may connect to, by the mode of the file, and root."""
        with suppress(FileNotFoundError):
            os.unlink(path)
        old = os.umask(0o117)
        try:
            return await asyncio.start_unix_server(self._serve, path, limit=MAX_LINE)
        finally:
            os.umask(old)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._converse(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the server closes: asyncio would log the cancellation of its own task
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await _line(reader):
            request = _decoded(line)
            if request.get("op") == "follow":
                return await self._follow(request, reader, writer)
            answer, large = self._respond(request), len(line) > LARGE_REQUEST
            del line, request  # which would hold a whole policy until the next one
            if large:
                _libc.malloc_trim(0)
            await _send(writer, answer)
        return None

    def _respond(self, request: Mapping[str, Any]) -> Answer:
        operation = self._operations.get(str(request.get("op")))
        if operation is None:
            return {"refused": f"no operation; known are follow, {', '.join(self._operations)}"}
        try:
            return {"ok": operation(request)}
        except EgressPolicyError as error:
            return {"refused": str(error), "errors": [{"pointer": pointer, "message": message} for pointer, message in error.errors]}
        except (KeyError, TypeError, ValueError) as error:
            return {"refused": f"malformed request: {error}"}
        except OSError as error:
            return {"refused": f"the policy cannot be kept: {error.strerror}", "kind": "unavailable"}

    def _replace(self, request: Mapping[str, Any]) -> Answer:
        text = request["policy"]
        if not isinstance(text, str):
            raise TypeError("a policy is JSON text")
        self._policy.replace(text, parse_policy(text))
        return {"cut": self._flows.judge_again()}

    def _grant(self, request: Mapping[str, Any]) -> Answer:
        self._policy.grant(read_grants(request["rules"]))
        return {"cut": self._flows.judge_again()}

    def _run_tasks(self, request: Mapping[str, Any]) -> Answer:
        self._policy.run_tasks(request["running"])
        return {"cut": self._flows.judge_again()}

    def _decide(self, request: Mapping[str, Any]) -> Answer:
        destination = Destination.of(str(request["host"]), int(request["port"]), AppProtocol(request.get("protocol", "tls")))
        uid = request.get("uid")
        decision = self._policy.decide(replace(destination, uid=None if uid is None else int(uid)))
        return {"action": decision.action.value, "rule": decision.rule, "learned": decision.learned}

    def _tell_status(self, _: Mapping[str, Any]) -> Answer:
        policy = self._policy.policy
        return {
            "open": sum(not flow.private for flow in self._flows.open.values()),
            "rules": len(policy.rules),
            "grants": self._policy.grants,
            "asking": sum("private" not in question for question in self._approvals.open),
            "mode": policy.mode.value,
            "default": policy.default.value,
            "problem": self._policy.problem,
            "events": dict(self._events.counts),
            **self._status(),
        }

    def _list_flows(self, request: Mapping[str, Any]) -> Answer:
        after = int(request.get("after", 0))
        flows = (flow for flow in self._flows.open.values() if flow.identity > after)
        return {"flows": [flow.describe() for flow in itertools.islice(flows, MAX_LISTED)], "total": len(self._flows.open)}

    def _answer_within(self, request: Mapping[str, Any]) -> Answer:
        self._approvals.wait(float(request["seconds"]))
        return {}

    def _answer(self, request: Mapping[str, Any]) -> Answer:
        return {"answered": self._approvals.answer(request["ask"], allowed=request["allow"] is True)}

    async def _follow(self, request: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with self._events.follow(str(request.get("name") or "")) as follower:
                heard = asyncio.get_running_loop().create_task(_hear(reader, follower))
                try:
                    await _send(writer, {"ok": {}}, *self._approvals.open)
                    while not heard.done():
                        await self._send_next(writer, follower)
                finally:
                    heard.cancel()
        except TooManyFollowers:
            await _send(writer, {"refused": "too many follow the events already"})
        except ValueError as error:
            await _send(writer, {"refused": str(error)})

    async def _send_next(self, writer: asyncio.StreamWriter, follower: FlowEventFollower) -> None:
        """Send what happens next, if anything does soon. One without a name does not say what has arrived."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                events = self._with_questions(await follower.next())
            number = follower.taken
            await _send(writer, *events, *([{"up_to": number}] if follower.name else []))
            if not follower.name:
                follower.delivered(number)

    def _with_questions(self, events: list[FlowEvent]) -> list[FlowEvent]:
        """Return events; where some were lost, with the questions that are open behind the one that says so."""
        first, *others = events
        if first["event"] != "lost":
            return events
        questions = self._approvals.open
        return [first | {"asking": [question["ask"] for question in questions]}, *questions, *others]


async def _hear(reader: asyncio.StreamReader, follower: FlowEventFollower) -> None:
    """Note what has arrived at a follower, until it hangs up."""
    with suppress(ConnectionError):
        while line := await _line(reader):
            if isinstance(number := _decoded(line).get("acknowledged"), int):
                follower.delivered(number)


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Read a line; an empty one is the end of the connection, or of what is accepted."""
    try:
        return await reader.readline()
    except ValueError:
        return b""


def _decoded(line: bytes) -> Mapping[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return request if isinstance(request, dict) else {}


async def _send(writer: asyncio.StreamWriter, *answers: Answer) -> None:
    writer.write(b"".join(json.dumps(answer).encode() + b"\n" for answer in answers))
    await writer.drain()
