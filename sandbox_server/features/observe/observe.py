"""Observability: resource usage live, watched by a guardrail, or captured for a report."""

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

from pydantic import Field

from sandbox_server.core import Blob, Conflict, Model, NotFound, Tasks, operation
from sandbox_server.features.observe.reports import ObservationReport, Reports
from sandbox_server.features.observe.sampler import Sampler
from sandbox_server.features.observe.session import IdempotencyKey, Observation, ObserveStartRequest
from sandbox_server.features.observe.snapshots import ObservationEvent, ObservationLiveSnapshot, ObservationMode


class ObserveLiveRequest(Model):
    top_rows: Annotated[int, Field(ge=0, le=200)] = 10
    """Number of processes to list, the largest consumers first."""


class ObservationStatus(Model):
    mode: ObservationMode
    running: bool
    session_id: str | None = None
    started_at: datetime | None = None
    ends_at: datetime | None = None
    interval_seconds: float | None = None
    last_sample_at: datetime | None = None
    runtime_dir: str | None = None
    report_count: int = 0


class ObservationStartResult(Model):
    session_id: str
    mode: ObservationMode
    started_at: datetime
    ends_at: datetime | None = None
    interval_seconds: float
    runtime_dir: str
    """Directory of samples and reports, which only the sandbox may enter."""


class ObserveStopRequest(Model):
    session_id: str | None = None
    """The session; absent: the running one."""


class ObservationStopResult(Model):
    session_id: str
    stopped: bool
    """False if it had ended before."""
    report_ready: bool
    """Whether there is something to export."""


class ObserveExportRequest(Model):
    idempotency_key: IdempotencyKey | None = None
    """The same key returns the same report, while it is stored."""
    session_id: str | None = None
    """The session; absent: the running one, or the last."""
    reason: Annotated[str, Field(max_length=200)] = "manual"


class ReportRef(Model):
    report_id: str


MAX_EVENTS = 200
KEPT_SESSIONS = 5
"""Limit of ended sessions that can still be exported."""


class Observe:
    """Observes the container. One session runs at a time; live samples need none."""

    tag = "sandbox"

    def __init__(self, directory: str, disks: Sequence[str], sampler: Sampler | None = None) -> None:
        self._directory = directory
        self._sampler = sampler or Sampler(disks)
        self._reports = Reports(f"{directory}/reports")
        self._events: deque[ObservationEvent] = deque(maxlen=MAX_EVENTS)
        self._tasks = Tasks()
        self._sessions: dict[str, Observation] = {}
        self._running: tuple[Observation, asyncio.Task[None]] | None = None
        self._exported: dict[str, str] = {}
        """Reports by their idempotency keys."""

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._prepare)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    @operation("GET /v1/sandbox/observe/status", scope="view")
    async def observe_status(self) -> ObservationStatus:
        """Report whether a session runs."""
        reports, session = len(self._reports.all()), self._active
        if session is None:
            return ObservationStatus(mode="off", running=False, report_count=reports)
        return ObservationStatus(
            mode=session.mode,
            running=True,
            session_id=session.id,
            started_at=session.started_at,
            ends_at=session.ends_at,
            interval_seconds=session.interval,
            last_sample_at=session.last_sample_at,
            runtime_dir=self._directory,
            report_count=reports,
        )

    @operation("GET /v1/sandbox/observe/live", scope="view")
    async def observe_live(self, request: ObserveLiveRequest) -> ObservationLiveSnapshot:
        """Sample processor, memory, disks and processes now."""
        mode: ObservationMode = self._active.mode if self._active else "off"
        sample = await self._sampler.take(mode, processes=request.top_rows)
        return sample.model_copy(update={"recent_events": list(self._events)})

    @operation("POST /v1/sandbox/observe/start", scope="admin")
    async def observe_start(self, request: ObserveStartRequest) -> ObservationStartResult:
        """Start a session; 409 while another runs."""
        known = [session for session in self._sessions.values() if request.idempotency_key and session.key == request.idempotency_key]
        if known:
            return self._start_result(known[0])
        if self._active:
            raise Conflict(f"session {self._active.id} is running: stop it first", session_id=self._active.id)
        session = Observation(request, self._directory, self._sampler, self._events.append)
        self._sessions[session.id] = session
        self._running = (session, self._tasks.start(session.run(), name=f"observation {session.id}"))
        self._forget_oldest()
        return self._start_result(session)

    @operation("POST /v1/sandbox/observe/stop", scope="admin")
    async def observe_stop(self, request: ObserveStopRequest) -> ObservationStopResult:
        """Stop a session. Its samples can be exported."""
        session = self._session(request.session_id) if request.session_id else self._active
        if session is None:
            raise NotFound("no session is running")
        stopped = session is self._active
        if stopped and self._running:
            self._running[1].cancel()
            await asyncio.gather(self._running[1], return_exceptions=True)
        return ObservationStopResult(session_id=session.id, stopped=stopped, report_ready=session.has_samples)

    @operation("POST /v1/sandbox/observe/export", scope="admin")
    async def observe_export(self, request: ObserveExportRequest) -> ObservationReport:
        """Write a report of a session's samples so far: gzip, one JSON object per line."""
        kept = {report.report_id: report for report in self._reports.all()}
        self._exported = {key: report_id for key, report_id in self._exported.items() if report_id in kept}
        key = request.idempotency_key
        if key in self._exported:
            return kept[self._exported[key]]
        session = self._session(request.session_id) if request.session_id else self._latest()
        if not session.has_samples:
            raise Conflict(f"session {session.id} has no samples yet", session_id=session.id)
        report = await asyncio.to_thread(self._reports.write, session.header(), session.path, request.reason)
        if key is not None:
            self._exported[key] = report.report_id
        return report

    @operation("GET /v1/sandbox/observe/reports", scope="view")
    async def observe_reports(self) -> list[ObservationReport]:
        """List the reports, oldest first."""
        return self._reports.all()

    @operation(
        "GET /v1/sandbox/observe/reports/{report_id}", scope="view", operation_id="observe_report_download", media_type="application/gzip"
    )
    async def observe_report_download(self, request: ReportRef) -> Blob:
        """Download a report."""
        report = self._reports.get(request.report_id)
        name = f'attachment; filename="observation-{report.report_id}.jsonl.gz"'
        return Blob(await asyncio.to_thread(Path(report.path).read_bytes), "application/gzip", {"content-disposition": name})

    @operation("DELETE /v1/sandbox/observe/reports/{report_id}", scope="admin")
    async def observe_report_delete(self, request: ReportRef) -> ObservationReport:
        """Delete a report."""
        return self._reports.delete(request.report_id)

    @property
    def _active(self) -> Observation | None:
        return self._running[0] if self._running and not self._running[1].done() else None

    def _prepare(self) -> None:
        self._reports.prepare()
        for left in Path(self._directory).glob("*.jsonl*"):  # sessions do not outlive the server
            left.unlink()

    def _session(self, session_id: str) -> Observation:
        if session_id not in self._sessions:
            raise NotFound(f"there is no session {session_id!r}", session_id=session_id)
        return self._sessions[session_id]

    def _latest(self) -> Observation:
        if not self._sessions:
            raise NotFound("there was no session yet: start one")
        return list(self._sessions.values())[-1]

    def _start_result(self, session: Observation) -> ObservationStartResult:
        return ObservationStartResult(
            session_id=session.id,
            mode=session.mode,
            started_at=session.started_at,
            ends_at=session.ends_at,
            interval_seconds=session.interval,
            runtime_dir=self._directory,
        )

    def _forget_oldest(self) -> None:
        for session in list(self._sessions.values())[: -KEPT_SESSIONS - 1]:
            session.remove()
            del self._sessions[session.id]
