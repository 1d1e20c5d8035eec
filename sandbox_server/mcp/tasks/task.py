"""One task, and its form in each generation of the protocol.

Versions with a handshake have tasks in the protocol of 2025-11-25. Version 2026-07-28 has them as the extension EXTENSION.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mcp_types import INTERNAL_ERROR, CallToolResult, ErrorData, Task, TaskStatus

from sandbox_server.core.quota import Reservation

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED_TASK = "io.modelcontextprotocol/related-task"
POLL_MILLISECONDS = 1000


@dataclass(eq=False, slots=True)
class ToolTask:
    """A call of a tool that runs as a task."""

    id: str
    owner: str
    """The name of the caller who started it."""
    tool: str
    ttl: float
    """Seconds from `created_at` until it is forgotten."""
    created_at: float
    """Seconds since the epoch, as `updated_at`."""
    updated_at: float
    place: Reservation
    """Its part of the limit of tasks."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it has ended."""
    message: str | None = None
    """What it waits for, or why it failed."""
    result: CallToolResult | None = None
    error: ErrorData | None = None
    cancelled: bool = False

    @property
    def failed(self) -> bool:
        """Whether it ended without a result, or with a result that is an error."""
        return self.error is not None or (self.result is not None and bool(self.result.is_error))

    def status(self, *, modern: bool) -> TaskStatus:
        """Its status. In the extension a result that is an error is a result, and the task `completed`."""
        if not self.ended.is_set():
            return "working"
        if self.cancelled:
            return "cancelled"
        return "failed" if self.error or (self.failed and not modern) else "completed"

    def described(self) -> Task:
        """The task in the form of 2025-11-25."""
        return Task(
            task_id=self.id,
            status=self.status(modern=False),
            status_message=self.message,
            created_at=timestamp(self.created_at),
            last_updated_at=timestamp(self.updated_at),
            ttl=round(self.ttl * 1000),
            poll_interval=POLL_MILLISECONDS,
        )

    def extension_fields(self) -> dict[str, Any]:
        """The task in the form of the extension, with its result or error once it has one."""
        fields: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status(modern=True),
            "createdAt": timestamp(self.created_at),
            "lastUpdatedAt": timestamp(self.updated_at),
            "ttlMs": round(self.ttl * 1000),
            "pollIntervalMs": POLL_MILLISECONDS,
        }
        if self.message:
            fields["statusMessage"] = self.message
        if fields["status"] == "completed" and self.result:
            fields["result"] = _dumped(self.result)
        if fields["status"] == "failed" and self.error:
            fields["error"] = _dumped(self.error)
        return fields

    def outcome(self) -> dict[str, Any] | ErrorData:
        """The result of the call, which names the task, or its error. The task has ended."""
        if self.result is None or self.cancelled:
            return self.error or ErrorData(code=INTERNAL_ERROR, message="the task was cancelled")
        found = _dumped(self.result)
        return {**found, "_meta": {**(found.get("_meta") or {}), RELATED_TASK: {"taskId": self.id}}}


def timestamp(seconds: float) -> str:
    """A time as ISO 8601, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _dumped(model: CallToolResult | ErrorData) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)
