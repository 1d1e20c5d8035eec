"""Starting sandboxes: containers on this machine."""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tandem.errors import TandemError

RUN_SECONDS = 600.0
"""An engine may have to fetch the image first."""
PROFILE = Path(__file__).with_name("seccomp.json")
OPTIONS = (
    *("--detach", "--publish", "127.0.0.1::8080", "--volume", "/sandbox"),
    *("--security-opt", f"seccomp={PROFILE}", "--security-opt", "systempaths=unconfined", "--cap-drop", "NET_RAW"),
    *("--pids-limit", "4096", "--shm-size", "1g", "--stop-timeout", "45"),
)
"""With them the sandbox has all that it can have: docs/start.md says what each adds."""


@dataclass(frozen=True)
class Started:
    """A sandbox that was started here: where it is, what opens it, and what removes it."""

    url: str
    key: str = field(repr=False)
    container: str


def start_container(image: str, name: str | None, env: Mapping[str, str]) -> Started:
    """Start a container with the image's own seccomp profile, so that all that it can do it may do."""
    docker = shutil.which(os.environ.get("TANDEM_ENGINE", "docker"))
    if docker is None:
        raise TandemError("there is no `docker` on this machine; TANDEM_ENGINE names another command")
    key = secrets.token_urlsafe(32)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "settings")
        lines = {**env, "SANDBOX_API_KEY": key}
        if any("\n" in value for value in lines.values()):
            raise TandemError("a setting must be one line")
        settings.touch(mode=0o600)
        settings.write_text("".join(f"{word}={value}\n" for word, value in lines.items()))
        container = name or f"tandem-{secrets.token_hex(6)}"
        try:
            _run(docker, "run", *OPTIONS, "--env-file", str(settings), "--name", container, image)
        except TandemError:
            if not name:  # a name that was given may be another container's
                _run(docker, "rm", "--force", "--volumes", container, check=False)
            raise
    try:
        address = _run(docker, "port", container, "8080/tcp").split()[0]
    except TandemError:
        _run(docker, "rm", "--force", "--volumes", container, check=False)
        raise
    return Started(f"http://{address}", key, container)


def remove(started: Started) -> None:
    """Remove a sandbox with its files."""
    if docker := shutil.which(os.environ.get("TANDEM_ENGINE", "docker")):
        _run(docker, "rm", "--force", "--volumes", started.container, check=False)


def _run(*command: str, check: bool = True) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise TandemError(f"{' '.join(command[:2])} did not end within {RUN_SECONDS:g} s") from error
    if done.returncode != 0 and check:
        raise TandemError(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-1000:]}")
    return done.stdout if done.returncode == 0 else ""
