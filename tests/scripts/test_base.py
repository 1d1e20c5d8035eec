"""`scripts/base` pulls, builds or derives the base image. The engine and mmdebstrap are stand-ins that keep what they were told."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "base"
ENGINE = """#!/bin/sh
echo "$@" >>"$SAID"
case "$1 $2" in
  "image inspect") [ -n "$HAS" ] ;;
  "pull "*) [ -n "$PULLS" ] ;;
  "build "*) for last in "$@"; do :; done; cat "$last/Dockerfile" "$last/snapshot.list" >>"$SAID" ;;
esac
"""
MMDEBSTRAP = '#!/bin/sh\necho mmdebstrap "$SOURCE_DATE_EPOCH" >>"$SAID"\ncat >>"$SAID"\n'
TIME = "20260102T030405Z"
SNAPSHOT = f"""deb http://snapshot.debian.org/archive/debian/{TIME} trixie main
deb http://snapshot.debian.org/archive/debian/{TIME} trixie-updates main
deb http://snapshot.debian.org/archive/debian-security/{TIME} trixie-security main
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the stand-ins are."""
    for name, body in (("engine", ENGINE), ("mmdebstrap", MMDEBSTRAP)):
        (tmp_path / name).write_text(body)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def base(folder: Path, *arguments: str, **environ: str) -> tuple[int, str]:
    """Run the script; gives its status and what the stand-ins were told."""
    said = folder / "said"
    said.write_text("")
    path = {"PATH": f"{folder}:/usr/bin:/bin", "SAID": str(said), "HAS": "", "PULLS": "", "SOURCE_DATE_EPOCH": "7"}
    command: list[str | Path] = [SCRIPT, folder / "engine", *arguments]
    done = subprocess.run(command, env=path | environ, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, said.read_text()


def test_an_image_that_is_there_is_taken_and_one_that_can_be_pulled_is_pulled(folder: Path) -> None:
    assert base(folder, HAS="1") == (0, "image inspect debian:trixie-slim\n")
    assert base(folder, PULLS="1") == (0, "image inspect debian:trixie-slim\npull --quiet debian:trixie-slim\n")


def test_without_a_registry_it_is_built_of_debians_packages(folder: Path) -> None:
    status, said = base(folder)
    assert status == 0
    assert "mmdebstrap 7\ndeb http://deb.debian.org/debian trixie main\n" in said
    assert said.splitlines()[-1].startswith("import --change CMD")
    assert said.endswith(" debian:trixie-slim\n")


def test_an_image_named_by_its_digest_is_never_built(folder: Path) -> None:
    status, said = base(folder, BASE="debian@sha256:0")
    assert (status, said) == (1, "image inspect debian@sha256:0\npull --quiet debian@sha256:0\n")


def test_a_releases_base_is_built_of_a_snapshot_and_apt_on_it_takes_the_snapshot(folder: Path) -> None:
    status, said = base(folder, "tandem-base:1", APT_SNAPSHOT=TIME)
    assert status == 0
    assert f"mmdebstrap 7\n{SNAPSHOT}import" in said
    assert said.endswith(f"FROM tandem-base:1\nCOPY snapshot.list /etc/apt/\nCOPY 99snapshot /etc/apt/apt.conf.d/\n{SNAPSHOT}")


def test_a_releases_base_can_stand_on_an_image_with_a_digest(folder: Path) -> None:
    status, said = base(folder, "tandem-base:1", BASE="debian@sha256:0", APT_SNAPSHOT=TIME, PLATFORM="linux/arm64")
    assert status == 0
    assert said.startswith("build --quiet --platform=linux/arm64 --tag tandem-base:1 ")
    assert "FROM debian@sha256:0\n" in said
    assert said.endswith(SNAPSHOT)
