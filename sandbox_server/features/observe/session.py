"""An observation session: periodic samples, stored in a file."""

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.features.observe.guardrail import Guardrail
from sandbox_server.features.observe.sampler import Sampler
from sandbox_server.features.observe.snapshots import ObservationEvent, ObservationLiveSnapshot

MAX_BYTES = 32 << 20
"""Limit in bytes of one session's samples. The session ends there with an event."""
PROCESSES = 20
"""Limit of processes in a sample."""
GUARDRAIL_SAMPLES = 120
"""Limit of stored samples of a guardrail session."""

_DEFAULTS: Mapping[str, tuple[float, int | None]] = {"capture": (1.0, 600), "guardrail": (5.0, None)}
"""Interval and duration by mode, in seconds."""

type IdempotencyKey = Annotated[str, Field(max_length=128)]

_log = logging.getLogger(__name__)


class ObserveStartRequest(Model):
    mode: Literal["guardrail", "capture"] = "capture"
    """`guardrail` keeps events and the last samples; `capture` keeps every sample for a report."""
    idempotency_key: IdempotencyKey | None = None
    """The same key returns the same session, while it is known."""
    duration_seconds: Annotated[int, Field(ge=1, le=604_800)] | None = None
    """Seconds until it ends. Default: 600 for `capture`, unlimited for `guardrail`."""
    interval_seconds: Annotated[float, Field(ge=0.2, le=3600)] | None = None
    """Seconds between two samples. Default: 1 for `capture`, 5 for `guardrail`."""
    include_processes: bool | None = None
    """Whether samples list processes. Default: only for `capture`."""
    include_disk: bool = True


class Observation:
    """One session. Its file `path` has one JSON object per line, `{"sample": ...}` or `{"event": ...}`."""

    def __init__(self, request: ObserveStartRequest, directory: str, sampler: Sampler, tell: Callable[[ObservationEvent], None]) -> None:
        interval, duration = _DEFAULTS[request.mode]
        self.id = secrets.token_hex(8)
        self.mode: Literal["guardrail", "capture"] = request.mode
        self.key = request.idempotency_key
        self.interval = request.interval_seconds or interval
        self.started_at = datetime.now(UTC)
        lasts = request.duration_seconds or duration
        self.ends_at = self.started_at + timedelta(seconds=lasts) if lasts else None
        self.last_sample_at: datetime | None = None
        self.path = f"{directory}/{self.id}.jsonl"
        self._processes = (
            PROCESSES if (request.mode == "capture" if request.include_processes is None else request.include_processes) else 0
        )
        self._disk = request.include_disk
        self._sampler = sampler
        self._tell = tell
        self._guardrail = Guardrail()
        self._lines: list[str] = []
        self._written = 0

    async def run(self) -> None:
        """Sample until the end, or until cancelled."""
        due = asyncio.get_running_loop().time()
        while self.ends_at is None or datetime.now(UTC) < self.ends_at:
            try:
                await self._sample()
            except OSError as error:
                _log.exception("a sample could not be taken or kept")
                self._tell(_event("sample_failed", f"a sample could not be taken or kept: {error.strerror}"))
            if self._written > MAX_BYTES:
                self._tell(_event("capture_full", f"the session ended: its samples take {self._written} bytes", limit=MAX_BYTES))
                return
            due = max(due + self.interval, asyncio.get_running_loop().time())
            await asyncio.sleep(due - asyncio.get_running_loop().time())

    def header(self) -> dict[str, Any]:
        """Return the session's description, the first line of its report."""
        ends = self.ends_at.isoformat() if self.ends_at else None
        return {
            "session_id": self.id,
            "mode": self.mode,
            "started_at": self.started_at.isoformat(),
            "ends_at": ends,
            "interval_seconds": self.interval,
        }

    @property
    def has_samples(self) -> bool:
        """Whether there is something to report."""
        return os.path.exists(self.path)

    def remove(self) -> None:
        """Delete the samples."""
        if self.has_samples:
            os.unlink(self.path)

    async def _sample(self) -> None:
        sample = await self._sampler.take(self.mode, processes=self._processes, disk=self._disk)
        events = self._guardrail.events(sample)
        self.last_sample_at = sample.captured_at
        for event in events:
            self._tell(event)
        await asyncio.to_thread(self._keep, sample, events)

    def _keep(self, sample: ObservationLiveSnapshot, events: list[ObservationEvent]) -> None:
        lines = [_line("sample", sample), *(_line("event", event) for event in events)]
        if self.mode == "capture":
            with open(self.path, "a", encoding="utf-8") as file:
                file.writelines(lines)
            self._written += sum(map(len, lines))
            return
        self._lines = (self._lines + lines)[-GUARDRAIL_SAMPLES:]
        atomic_write.replace(self.path, "".join(self._lines))


def _line(name: str, model: ObservationLiveSnapshot | ObservationEvent) -> str:
    return json.dumps({name: model.model_dump(mode="json", exclude={"recent_events"})}) + "\n"


def _event(kind: str, message: str, **found: object) -> ObservationEvent:
    return ObservationEvent(ts=datetime.now(UTC), type=kind, message=message, data=found)
