"""The flight recorder: what is written down of every call, from the first one on."""

from collections.abc import Iterator

from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.entries import InputEntries, LeaseEntries, LineEntries
from sandbox_server.features.recorder.events import EventLogReader
from sandbox_server.features.recorder.guard import RecorderGuard
from sandbox_server.parts.shared import Opened, Part, Shared
from sandbox_server.settings import Settings, secrets_in
from sandbox_server.settings.recorder import Recorder as RecorderSettings

KEYS = ("session-key", "api-key", "agent-token")


def first(shared: Shared) -> Part:
    """The journal, the guard that writes down calls, and who drives."""
    journal, driving, redaction = shared.journal, shared.control.driving, redaction_for(shared.settings)
    inputs = InputEntries(journal)
    driving.noted, driving.lines = inputs.note, LineEntries(journal, redaction).entered
    guard = RecorderGuard(journal, redaction)
    opened = (journal, *telling(guard, shared.settings.recorder), LeaseEntries(journal, driving, inputs, redaction))
    return Part((EventLogReader(journal),), opened, (guard,))


def telling(guard: RecorderGuard, settings: RecorderSettings) -> Opened:
    """What tells a collector of every call, where there is one."""
    if settings.otlp is None:
        return ()
    from sandbox_server.features.recorder.spans import Spans, headers_of  # the first answers need not wait for it

    headers = headers_of(settings.otlp_headers.reveal()) if settings.otlp_headers else {}
    spans = Spans(settings.otlp, headers, settings.otlp_service or "tandem")
    guard.span = spans.add
    return (spans,)


def redaction_for(settings: Settings) -> Redaction:
    """What takes out of texts all that is secret here."""
    return Redaction(known_secrets(settings))


def known_secrets(settings: Settings) -> Iterator[str]:
    """What no entry may hold, whatever it looks like."""
    yield from secrets_in(settings)
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    yield from (key for name in KEYS if (key := keyring.read(name)))
