"""Runs `scripts/release-inside` as `scripts/release` does, with a key and a registry of its own where they are wanted."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.patience import eventually

ROOT = Path(__file__).parent.parent.parent
VERSION = "0.2.0"
"""A version that the changelog has."""
EPOCH = 1_700_000_000
GIVEN = {
    "tag": f"v{VERSION}",
    "commit": "c" * 40,
    "epoch": EPOCH,
    "source": "https://git.example.org/tandem",
    "builder": "https://ci.example.org/1",
    "base": "debian:trixie-slim",
    "base_digests": {"amd64": f"sha256:{'d' * 64}"},
    "snapshot": "http://snapshot.example.org/debian/20260102T030405Z/",
    "arguments": {"NODE_VERSIONS": "22"},
}
TIMEOUT = 600


@dataclass(frozen=True)
class Release:
    """What a release made, and what it said."""

    dist: Path
    said: str

    def digests(self) -> dict[str, str]:
        """The images' digests by name."""
        return {name: digest for digest, name in (line.split() for line in (self.dist / "digests").read_text().splitlines())}


def tool(*command: str | Path, where: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a tool of the image of the tests."""
    environ = os.environ | {"COSIGN_PASSWORD": "secret"}
    return subprocess.run(command, cwd=where, env=environ, capture_output=True, text=True, timeout=TIMEOUT, check=check)


def make_key(folder: Path) -> Path:
    """A key pair of cosign's; gives the private one's path."""
    folder.mkdir(parents=True)
    tool("cosign", "generate-key-pair", where=folder)
    return folder / "cosign.key"


@contextlib.contextmanager
def registry(folder: Path) -> Iterator[str]:
    """A registry on this machine; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    storage = {"filesystem": {"rootdirectory": str(folder / "registry")}}
    (folder / "registry.json").write_text(json.dumps({"version": 0.1, "storage": storage, "http": {"addr": address}}))
    command: list[str | Path] = ["docker-registry", "serve", folder / "registry.json"]
    with (folder / "registry.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            asyncio.run(eventually(lambda: tool("curl", "-fsS", f"http://{address}/v2/", check=False).returncode == 0))
            yield address
        finally:
            process.terminate()


def release(saved: Path, dist: Path, key: Path | None = None, repository: str = "") -> Release:
    """Make a release of what is saved."""
    dist.mkdir()
    (saved / "given.json").write_text(json.dumps(GIVEN))
    told = {"VERSION": VERSION, "SOURCE_DATE_EPOCH": str(EPOCH), "REPOSITORY": repository}
    environ = os.environ | told | {"COSIGN_KEY": str(key or ""), "COSIGN_PASSWORD": "secret"}
    command = [ROOT / "scripts" / "release-inside", saved, dist]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr
    return Release(dist, done.stderr)
