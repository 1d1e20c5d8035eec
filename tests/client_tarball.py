"""The TypeScript client, from the tarball that a release has."""

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACK = Path(__file__).parent.parent / "scripts" / "pack-typescript-client"
NODES = Path("/opt/node")


@contextmanager
def installed_tarball() -> Iterator[Path]:
    """A folder whose modules import the package as `tandem-client`, with the types of React and Node beside it."""
    with tempfile.TemporaryDirectory(prefix="client-") as folder:
        root = Path(folder)
        subprocess.run([PACK, folder], check=True, capture_output=True)
        [tarball] = root.glob("tandem-client-*.tgz")
        with tarfile.open(tarball) as archive:
            archive.extractall(root, filter="data")
        modules = root / "node_modules"
        modules.mkdir()
        (root / "package").rename(modules / "tandem-client")
        for name in ("@types", "csstype", "undici-types"):
            (modules / name).symlink_to(f"/opt/client-typescript/node_modules/{name}")
        yield root


def run_node(folder: Path, script: str, *arguments: str, version: str = "22", env: dict[str, str] | None = None) -> str:
    """Run a script as a module of the folder; what it writes."""
    (folder / "script.mjs").write_text(script)
    command = [str(NODES / version / "bin/node"), "script.mjs", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
