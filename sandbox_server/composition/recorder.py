"""The flight recorder, which records every call from the first one on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox_server.composition.part import Opened, ProductPart
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.events import EventLogReader
from sandbox_server.features.recorder.recorded_events import InputEntries, LineEntries
from sandbox_server.features.recorder.recorder_guard import RecorderGuard, Span
from sandbox_server.settings import Settings, secrets_in
from sandbox_server.settings.recorder import RecorderSettings as RecorderSettings

KEYS = ("session-key", "api-key", "agent-token")


@dataclass(frozen=True, slots=True)
class FlightRecorder:
    """The journal and what writes to it."""

    journal: Journal
    redaction: Redaction
    inputs: InputEntries
    lines: LineEntries
    guard: RecorderGuard
    part: ProductPart


def build_recorder(settings: Settings, private: Callable[[], bool]) -> FlightRecorder:
    """Make the recorder.

    `private` tells whether a person is in private mode; then that person's input is not recorded.
    """
    journal = Journal(EventLog(f"{settings.paths.recorder}/events", settings.recorder.max_bytes), on=settings.recorder.on, private=private)
    redaction = Redaction(known_secrets(settings))
    span, exporter = _trace_exporter(settings.recorder)
    return FlightRecorder(
        journal=journal,
        redaction=redaction,
        inputs=InputEntries(journal),
        lines=LineEntries(journal, redaction),
        guard=RecorderGuard(journal, redaction, span),
        part=ProductPart((EventLogReader(journal),), (journal, *exporter)),
    )


def _trace_exporter(settings: RecorderSettings) -> tuple[Span | None, Opened]:
    """Return the exporter of spans to an OpenTelemetry collector, if one is set."""
    if settings.otlp is None:
        return None, ()
    from sandbox_server.features.recorder.otlp_spans import Spans, headers_of  # a slow import, which few installations need

    headers = headers_of(settings.otlp_headers.reveal()) if settings.otlp_headers else {}
    spans = Spans(settings.otlp, headers, settings.otlp_service or "tandem")
    return spans.add, (spans,)


def known_secrets(settings: Settings) -> Iterator[str]:
    """Yield the configured secrets, which no entry may contain."""
    yield from secrets_in(settings)
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    yield from (key for name in KEYS if (key := keyring.read(name)))
