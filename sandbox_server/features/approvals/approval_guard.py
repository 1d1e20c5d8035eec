"""The guard of acts: what a program runs or calls passes the gate, on whatever surface it comes."""

import asyncio
import json
from collections.abc import Awaitable
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from pydantic import BaseModel

from sandbox_server.core import Call, Failure
from sandbox_server.core.approval import ApprovalDecision, ApprovalDenied
from sandbox_server.core.caller_presence import while_connected
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.identity import SERVER
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.shells.command_effects import UNCLEAR_ACT, acts_of
from sandbox_server.features.approvals.browser_gate import BrowserGate
from sandbox_server.features.approvals.gate import HINT, ApprovalGate, GatedAct, TaskScope
from sandbox_server.features.approvals.policy import MAX_TEXT, ApprovalMatch, ApprovalPolicy, ApprovalRule
from sandbox_server.features.approvals.shell_lines import REFUSED, TYPING, GivenLine, TypedLines, line_of

BLOCKED = ("ERR_BLOCKED_BY_CLIENT", "Failed to fetch")
"""What pages and scripts that fail for a request that was not admitted are told."""


class ApprovalGuard:
    """Guard: a program's call needs approval where a rule says so. A person's own calls need none, nor do the sandbox's."""

    def __init__(self, gate: ApprovalGate, workspace: str, home: str, browser: BrowserGate) -> None:
        self._gate = gate
        self._browser = browser
        self._workspace = workspace
        self._home = home
        self._typed = TypedLines()
        self._typing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, called: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        if call.caller.person or call.caller.may(SERVER):
            return await proceed()
        if self._gate.guards("tool") and called.spec.scope != "public":
            await self._gate.admit(tool_act(called, request, call), partial(_while_connected, call))
        if called.spec.scope == "browser":
            return await self._browse(proceed)
        if not self._gate.guards("shell"):
            return await proceed()
        if called.name in REFUSED:
            said, hint = REFUSED[called.name]
            raise ApprovalDenied(f"rules guard the shells: {said}", hint=hint)
        if request is not None and called.name in TYPING:
            return await self._type(called, request, call, proceed)
        if request is not None and (line := line_of(called.name, request, self._workspace)):
            await self._admit_line(line, call)
        return await proceed()

    async def _browse(self, proceed: Proceed) -> object:
        """Run an operation of the browser. One that fails where the browser's gate denied something says so."""
        before = self._browser.denials
        try:
            return await proceed()
        except Failure as failure:
            if any(told in failure.message for told in BLOCKED) and self._browser.last and self._browser.denials > before:
                raise self._browser.last from None
            raise

    async def _type(self, called: Operation, request: BaseModel, call: Call, proceed: Proceed) -> object:
        """Admit what is typed, one call after the other for each session: a line may come in pieces."""
        keyboard = called.name == "shell.write_to_process"
        given: dict[str, Any] = dict(request)
        session = f"{called.tag}:{given.get('session_id') or given.get('id') or ''}"
        text = given["input"] + ("\n" if given.get("press_enter") else "")
        async with self._typing.setdefault(session, asyncio.Lock()):
            if line := self._typed.line(session, text, keyboard=keyboard):
                await self._admit_line(line, call)
            result = await proceed()
            self._typed.typed(session, text, keyboard=keyboard)
            return result

    async def _admit_line(self, line: GivenLine, call: Call) -> None:
        acts = acts_of(line.text, self._workspace, self._home, line.directory)
        if line.unclear:
            acts.append(UNCLEAR_ACT)
        if not acts:
            return

        def decide(policy: ApprovalPolicy) -> ApprovalRule | None:
            return policy.decide_line(line.text, acts, line.directory)

        details = {"command": line.text, "caller": call.caller.name}
        details |= {name: text for name, text in (("directory", line.directory), ("session", line.session)) if text}
        whole = 0 < len(line.text) <= MAX_TEXT
        always = ApprovalMatch(line=line.text, directory=line.directory or None) if whole else None
        scope = TaskScope(f"{line.directory}\n{line.text}", f"The same line in {line.directory}.") if line.directory else None
        act = GatedAct("shell", decide, details, call.caller.name, always, scope)
        await self._gate.admit(act, partial(_while_connected, call))


def tool_act(called: Operation, request: BaseModel | None, call: Call) -> GatedAct:
    """Return the act of calling an operation, by any of its names."""
    spec = called.spec
    names = [name for name in (spec.tool, called.name, *spec.aliases) if name]
    given = request.model_dump(mode="json", exclude_defaults=True) if request is not None else {}
    return named_tool_act(names, given, call.caller.name)


def named_tool_act(names: list[str], arguments: Any, caller: str) -> GatedAct:
    """Return the act of calling a tool that has these names."""

    def decide(policy: ApprovalPolicy) -> ApprovalRule | None:
        return policy.decide("tool", {"tool": names})

    text = json.dumps(arguments, ensure_ascii=False, default=str)
    details = {"tool": names[0], "arguments": text, "caller": caller}
    scope = TaskScope(f"{names[0]}\n{text}", "The same call with the same arguments.")
    return GatedAct("tool", decide, details, caller, ApprovalMatch(tool=_exactly(names[0])), scope)


def _exactly(text: str) -> str:
    """Return the glob that matches a text alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in text)


async def _while_connected(call: Call, asking: Awaitable[ApprovalDecision]) -> ApprovalDecision:
    """Wait for the decision, as long as the caller is there. The question of a caller who has gone is withdrawn."""
    return await while_connected(call, asking, ApprovalDenied("the caller has disconnected", hint=HINT))
