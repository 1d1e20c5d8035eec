"""Binding: a sandbox of a warm pool learns after its start whom it works for."""

import asyncio
from collections.abc import AsyncIterator, Callable

from pydantic import Field

from sandbox_server import patterns
from sandbox_server.core import Call, Event, EventTypes, InvalidArgument, Model, Reply, operation
from sandbox_server.core.entity_tags import asked_version
from sandbox_server.drivers.workload_identity.binding import BindingStore, SandboxBinding

MAX_LABELS = 16
MAX_VALUE_CHARS = 128
_SEGMENT = patterns.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LABEL = patterns.compile(r"[a-z0-9][a-z0-9._/-]{0,62}")


class BindSandbox(Model):
    tenant: str | None = Field(default=None, min_length=1, max_length=64)
    """Whom the sandbox works for: letters, digits, `.`, `-` and `_`. Once given, it cannot be changed."""
    task: str | None = Field(default=None, min_length=1, max_length=64)
    """What it works on, of the same characters."""
    labels: dict[str, str] = Field(default_factory=dict, max_length=MAX_LABELS)
    """Further claims about it: short texts by lower-case names."""


class BoundSandbox(Model):
    sandbox_id: str
    tenant: str | None = None
    task: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    bound_at: float | None = None
    """Seconds since the epoch; null while it is not bound."""
    etag: str
    """Version, for `If-Match`."""


EVENTS = EventTypes("IdentityEvent", {"identity": BoundSandbox})


class SandboxBindings:
    """The binding's operation, and its events. `changed` is called after a change."""

    tag = "identity"

    def __init__(self, bindings: BindingStore, changed: Callable[[], None] = lambda: None) -> None:
        self._bindings = bindings
        self._changed = changed
        self._news = asyncio.Condition()

    @operation("POST /v1/sandbox/bind", scope="admin")
    async def bind_sandbox(self, request: BindSandbox, call: Call) -> Reply[BoundSandbox]:
        """Bind the sandbox to a tenant and a task, as claims of the tokens from now on.

        The first call needs no `If-Match`. A later one that changes something must name the version that it replaces
        there, and cannot change the tenant. The same call again changes nothing. Tokens issued before stay as they are
        until they end.
        """
        wanted = SandboxBinding(request.tenant, request.task, dict(request.labels))
        _check(wanted)
        before = self._bindings.current.version
        bound = await asyncio.to_thread(self._bindings.bind, wanted, asked_version(call.headers))
        if bound.version != before:
            self._changed()
            async with self._news:
                self._news.notify_all()
        return Reply(self._described(bound), headers={"ETag": bound.etag})

    async def follow(self, call: Call) -> AsyncIterator[Event] | None:
        """Begin to tell a caller of the binding: as it is, and whenever it changes."""
        return self._events()

    async def _events(self) -> AsyncIterator[Event]:
        told = -1
        while True:
            async with self._news:
                while self._bindings.current.version == told:
                    await self._news.wait()
            current = self._bindings.current
            told = current.version
            yield Event("identity", self._described(current).model_dump(mode="json"))

    def _described(self, bound: SandboxBinding) -> BoundSandbox:
        return BoundSandbox(
            sandbox_id=self._bindings.sandbox_id,
            tenant=bound.tenant,
            task=bound.task,
            labels=dict(bound.labels),
            bound_at=bound.bound_at,
            etag=bound.etag,
        )


def _check(wanted: SandboxBinding) -> None:
    for name, value in (("tenant", wanted.tenant), ("task", wanted.task)):
        if value is not None and not _SEGMENT.fullmatch(value):
            raise InvalidArgument(f"{name} must have letters, digits, '.', '-' and '_', and begin with a letter or a digit")
    for label, text in wanted.labels.items():
        if not _LABEL.fullmatch(label):
            raise InvalidArgument("a label's name must have up to 63 lower-case letters, digits, '.', '-', '_' and '/'")
        if len(text) > MAX_VALUE_CHARS or not text.isprintable():
            raise InvalidArgument(f"a label's text has at most {MAX_VALUE_CHARS} characters, all of which show")
