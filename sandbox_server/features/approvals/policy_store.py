"""The policy of approvals in force, kept in a file, and what people allowed for a task."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sandbox_server.core import ResourceExhausted
from sandbox_server.core.entity_tags import require_version
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.approvals.policy import (
    MAX_RULES,
    ActSubject,
    ApprovalMatch,
    ApprovalPolicy,
    ApprovalPolicyDocument,
    ApprovalRule,
    dumped,
)

MAX_GRANTS = 1000
type GrantKey = tuple[str, ActSubject, str]


def configured_policy(setting: str | None) -> ApprovalPolicyDocument:
    """Return the document of the setting `APPROVALS`: JSON, or the path of a file with it. Raises ValueError."""
    if not setting:
        return ApprovalPolicyDocument()
    try:
        text = setting if setting.lstrip().startswith("{") else Path(setting).read_text(encoding="utf-8")
        return ApprovalPolicyDocument.model_validate(json.loads(text))
    except (OSError, ValueError) as error:
        raise ValueError(f"APPROVALS cannot be used: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
    return str(error)


class ApprovalPolicyStore:
    """The document in force. It lasts as long as the container; what a person allows always becomes a rule of it."""

    def __init__(self, file: JsonFile, configured: ApprovalPolicyDocument) -> None:
        kept: Any = file.read()
        self.policy = ApprovalPolicy(ApprovalPolicyDocument.model_validate(kept) if kept is not None else configured)
        self._file = file
        self._changing = asyncio.Lock()
        self._followers: list[Callable[[], Awaitable[None] | None]] = []

    def follow(self, changed: Callable[[], Awaitable[None] | None]) -> None:
        """Call `changed` after every change. What it returns is awaited before the change counts as made."""
        self._followers.append(changed)

    async def replace(self, document: ApprovalPolicyDocument, version: str | None) -> ApprovalPolicy:
        """Put a document in force. `version` is an `If-Match`. Raises PreconditionRequired without one, PreconditionFailed for another."""
        async with self._changing:
            require_version(version, self.policy.etag, "policy")
            return await self._put(document)

    async def allow_always(self, before: str, subject: ActSubject, match: ApprovalMatch) -> None:
        """Add a rule that allows an act, in front of the rule that asks. Raises ResourceExhausted at the limit."""
        async with self._changing:
            rules = self.policy.document.rules
            if len(rules) >= MAX_RULES:
                raise ResourceExhausted(f"the policy has {MAX_RULES} rules already")
            at = next((number for number, rule in enumerate(rules) if rule.name == before), None)
            if at is None:
                return  # the rule is gone: what it asked about is allowed, or denied, by others
            names = {rule.name for rule in rules}
            name = next(name for number in range(len(rules) + 1) if (name := f"allowed {number + 1}") not in names)
            added = allowing_rule(name, subject, match)
            await self._put(ApprovalPolicyDocument(rules=[*rules[:at], added, *rules[at:]]))

    async def _put(self, document: ApprovalPolicyDocument) -> ApprovalPolicy:
        await in_thread(self._file.write, dumped(document))
        self.policy = ApprovalPolicy(document)
        for follower in self._followers:
            if (taking := follower()) is not None:
                await taking
        return self.policy


def allowing_rule(name: str, subject: ActSubject, match: ApprovalMatch) -> ApprovalRule:
    """Return the rule that `always` writes."""
    return ApprovalRule(name=name, subject=subject, match=match, action="allow")


class TaskGrants:
    """What people allowed for a task, by caller, until its time is over. A restart of the server forgets it."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._until: dict[GrantKey, float] = {}

    def allow(self, key: GrantKey) -> None:
        """Allow an act from now on."""
        self._until.pop(key, None)
        self._until[key] = self._now() + self.seconds
        while len(self._until) > MAX_GRANTS:
            del self._until[next(iter(self._until))]

    def allows(self, key: GrantKey) -> bool:
        """Whether an act is allowed now."""
        return self._until.get(key, 0.0) > self._now()

    def forget(self) -> None:
        """Withdraw everything."""
        self._until.clear()
