"""The sandbox's own secrets in files: made by boot as root, read by the control user, one of them by the agent."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

_BYTES = 32


class Keyring:
    """Secrets under `run` (0700 of the control user); the agent's own token is also under `agent_run`."""

    def __init__(self, run: str, agent_run: str) -> None:
        self._run = Path(run)
        self._agent_run = Path(agent_run)

    @property
    def tickets(self) -> str:
        """Directory of the tickets."""
        return str(self._run / "tickets")

    def prepare(self, control: tuple[int, int], agent: tuple[int, int], *, with_api_key: bool) -> None:
        """Make what is missing; `control` and `agent` are user and group ids.

        A secret that exists is kept, so that a restart of the container signs nobody out. The agent's token is new at each boot.
        """
        self._keep("session-key", control)
        if with_api_key:
            self._keep("api-key", control)
        token = secrets.token_urlsafe(_BYTES)
        _write(self._run / "agent-token", token, 0o600, control)
        _write(self._agent_run / "token", token, 0o640, (os.geteuid(), agent[1]))
        Path(self.tickets).mkdir(mode=0o700, exist_ok=True)
        _chown(self.tickets, control)

    def read(self, name: str) -> str | None:
        """The secret `session-key`, `api-key` or `agent-token`; None if boot made none."""
        try:
            return (self._run / name).read_text().strip() or None
        except FileNotFoundError:
            return None

    def _keep(self, name: str, owner: tuple[int, int]) -> None:
        if self.read(name) is None:
            _write(self._run / name, secrets.token_urlsafe(_BYTES), 0o600, owner)


def _write(file: Path, secret: str, mode: int, owner: tuple[int, int]) -> None:
    """Replace the file whole; it is never readable by anyone else, not even for a moment."""
    draft = file.with_name(f".{file.name}.new")
    with suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(f"{secret}\n")
    _chown(draft, owner)
    draft.chmod(mode)
    draft.rename(file)


def _chown(path: str | Path, owner: tuple[int, int]) -> None:
    if os.geteuid() == 0:
        os.chown(path, *owner)
