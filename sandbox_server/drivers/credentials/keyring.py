"""The sandbox's own secrets in files.

Boot makes them as root; the user control reads them, and the agent one of them.
"""

import os
import secrets
from pathlib import Path

from sandbox_server.drivers.storage import atomic_write

_BYTES = 32


def new_agent_key() -> str:
    """Return a key for an agent, in the form by which such keys are recognised."""
    return f"tandem_{secrets.token_urlsafe(_BYTES)}"


class Keyring:
    """Secrets under `run` (mode 0700 of the user control). The agent's own token is also under `agent_run`."""

    def __init__(self, run: str, agent_run: str) -> None:
        self._run = Path(run)
        self._agent_run = Path(agent_run)

    @property
    def tickets(self) -> str:
        """Directory of the tickets."""
        return str(self._run / "tickets")

    def prepare(self, control: tuple[int, int], agent: tuple[int, int], *, with_api_key: bool) -> None:
        """Make missing secrets. `control` and `agent` are user and group ids.

        Existing secrets are kept, so that a restart of the container signs nobody out. The agent's token is new at each
        boot.
        """
        self._keep("session-key", control)
        self._keep("placeholder-key", control)
        if with_api_key:
            self._keep("api-key", control)
        token = secrets.token_urlsafe(_BYTES)
        atomic_write.replace(self._run / "agent-token", f"{token}\n", owner=control)
        atomic_write.replace(self._agent_run / "token", f"{token}\n", mode=0o640, owner=(os.geteuid(), agent[1]))
        Path(self.tickets).mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(self.tickets, *control)

    @property
    def agent_key(self) -> Path:
        """The file of the key for an agent that is there from the start."""
        return self._run / "agent-key"

    def keep_agent_key(self, control: tuple[int, int], given: str | None) -> None:
        """Write the agent's key that is given. Without one, keep the key that is there, or make one."""
        known = self.read("agent-key")
        if known is None or given not in (None, known):
            atomic_write.replace(self.agent_key, f"{given or new_agent_key()}\n", owner=control)

    def read(self, name: str) -> str | None:
        """Return the secret `session-key`, `api-key`, `agent-key` or `agent-token`; None if boot made none."""
        try:
            return (self._run / name).read_text().strip() or None
        except FileNotFoundError:
            return None

    def placeholder_key(self) -> str:
        """Return the key by which the placeholders of secrets are made. Raises FileNotFoundError where boot made none."""
        return (self._run / "placeholder-key").read_text().strip()

    def _keep(self, name: str, owner: tuple[int, int]) -> None:
        if self.read(name) is None:
            atomic_write.replace(self._run / name, f"{secrets.token_urlsafe(_BYTES)}\n", owner=owner)
