"""The flight recorder: what is written down of every call, from the first one on."""

from collections.abc import Iterator

from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.entries import InputEntries, LeaseEntries, LineEntries
from sandbox_server.features.recorder.feature import Recorder
from sandbox_server.features.recorder.guard import RecorderGuard
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import Settings, secrets_in

KEYS = ("session-key", "api-key", "agent-token")


def first(shared: Shared) -> Part:
    """The journal, the guard that writes down calls, and who drives."""
    journal, driving, redaction = shared.journal, shared.control.driving, redaction_for(shared.settings)
    inputs = InputEntries(journal)
    driving.noted, driving.lines = inputs.note, LineEntries(journal, redaction).entered
    return Part((Recorder(journal),), (journal, LeaseEntries(journal, driving, inputs, redaction)), (RecorderGuard(journal, redaction),))


def redaction_for(settings: Settings) -> Redaction:
    """What takes out of texts all that is secret here."""
    return Redaction(known_secrets(settings))


def known_secrets(settings: Settings) -> Iterator[str]:
    """What no entry may hold, whatever it looks like."""
    yield from secrets_in(settings)
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    yield from (key for name in KEYS if (key := keyring.read(name)))
