"""`scripts/sizes` fails where a layer grew, where one is unknown and where a variant is above its bar. The engine is a stand-in."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "sizes"
TABLE = """# What is allowed.

[bars]
core = 60
full = 230

[layers]
"debian:trixie-slim" = 50
"gcc make" = 100
"COPY /opt/small" = 3
"COPY /opt/only-elsewhere" = 10
"""


def sizes(
    tree: Path, layers: list[tuple[float, str]], *arguments: str, image: str = "tandem", machine: str = "amd64"
) -> subprocess.CompletedProcess[str]:
    """Run it on an image of layers of so many MB, the lowest first."""
    (tree / "history").write_text("".join(f"{round(size * 1e6)} {made}\n" for size, made in reversed(layers)))
    client = (
        f'for last; do :; done; [ "$last" = {image} ] || exit 1; case $1 in image) echo {machine} ;; history) cat "{tree}/history" ;; esac'
    )
    for name, text in (("engine", f"echo {tree}/docker"), ("../docker", client)):
        program = tree / "scripts" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    command = [str(tree / "scripts/sizes"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, env={"PATH": os.environ["PATH"]})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with the script and a table."""
    for name in ("scripts", "requirements"):
        (tmp_path / name).mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    (tmp_path / "requirements/sizes.toml").write_text(TABLE)
    return tmp_path


def of(debian: float = 50, gcc: float = 100, small: float = 3) -> list[tuple[float, str]]:
    """Layers as an engine tells of them."""
    return [(debian, ""), (gcc, "RUN /bin/sh -c apt-get install gcc make # buildkit"), (small, "COPY /opt/small /opt/small # buildkit")]


def test_a_layer_may_grow_by_five_per_cent_and_a_small_one_by_two_megabytes(tree: Path) -> None:
    done = sizes(tree, of(debian=52.4, gcc=104.9, small=4.9))
    assert (done.returncode, done.stderr) == (0, "")
    assert "   104.9 MB  gcc make\n" in done.stdout
    assert "   162.2 MB  in all\n" in done.stdout


@pytest.mark.parametrize(
    ("layers", "named"),
    [
        (of(gcc=105.1), "gcc make is 105.1 MB, and 105 MB are allowed"),
        (of(small=5.1), "COPY /opt/small is 5.1 MB, and 5 MB are allowed"),
        (of(debian=53), "debian:trixie-slim is 53.0 MB, and 52 MB are allowed"),
        ([*of(), (2.5, "RUN /bin/sh -c fetch more")], "a layer of 2.5 MB is not in the table: RUN /bin/sh -c fetch more"),
    ],
)
def test_what_grew_beyond_that_or_is_not_listed_is_named(tree: Path, layers: list[tuple[float, str]], named: str) -> None:
    done = sizes(tree, layers)
    assert done.returncode == 1
    assert named in done.stderr


def test_layers_for_another_machine_are_told_and_not_judged(tree: Path) -> None:
    done = sizes(tree, of(gcc=120), machine="arm64")
    assert (done.returncode, "   120.0 MB  gcc make\n" in done.stdout) == (0, True)


def test_each_variant_has_a_bar(tree: Path) -> None:
    smaller = [(50.0, ""), (3.0, "COPY /opt/small /opt/small # buildkit")]
    assert sizes(tree, smaller, "core", image="tandem:core").returncode == 0

    done = sizes(tree, [*smaller, *[(1.9, "RUN /bin/sh -c fetch more")] * 5], "core", image="tandem:core")
    assert (done.returncode, done.stderr) == (1, "sizes: core is 62 MB, above its bar of 60 MB\n")


def test_an_update_writes_the_figures_of_the_layers_that_are_there_and_keeps_all_else(tree: Path) -> None:
    assert sizes(tree, of(gcc=110.6), "--update").returncode == 0
    assert (tree / "requirements/sizes.toml").read_text() == TABLE.replace('"gcc make" = 100', '"gcc make" = 111')
    assert sizes(tree, of(gcc=110.6)).returncode == 0
