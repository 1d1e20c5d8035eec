"""The flight recorder: what is written down of every call from the first on."""

from collections.abc import Iterator

from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.entries import InputEntries, LeaseEntries
from sandbox_server.features.recorder.feature import Recorder
from sandbox_server.features.recorder.guard import RecorderGuard
from sandbox_server.parts.shared import Part, Shared
from sandbox_server.settings import Settings, secrets_in

KEYS = ("session-key", "api-key", "agent-token")


def first(shared: Shared) -> Part:
    """The journal, the guard that writes down calls, and who drives; all else of the recorder joins later."""
    journal, driving = shared.journal, shared.control.driving
    inputs = InputEntries(journal)
    driving.noted = inputs.note
    guard = RecorderGuard(journal, Redaction(known_secrets(shared.settings)))
    return Part((Recorder(journal),), (journal, LeaseEntries(journal, driving, inputs)), (guard,))


def known_secrets(settings: Settings) -> Iterator[str]:
    """What no entry may hold, whatever it looks like."""
    yield from secrets_in(settings)
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    yield from (key for name in KEYS if (key := keyring.read(name)))
