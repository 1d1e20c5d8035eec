"""A program that reaches only some paths, as the desktop user, against files that this user may reach."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.browser import landlocked
from sandbox_server.drivers.fence import landlock
from tests.patience import PATIENCE_SECONDS

READABLE = ("/usr", "/proc", "/etc/ld.so.cache")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that everybody may write to, with two more in it."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        for part in (made, made / "own", made / "other"):
            part.mkdir(exist_ok=True)
            part.chmod(0o777)
        (made / "other" / "file").write_text("theirs")
        (made / "own" / "file").write_text("own")
        yield made


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*landlocked.command(READABLE, ["/dev/null", f"{folder}/own", f"{folder}/none"]), "sh", "-c", script],
        env={"PATH": os.environ["PATH"], **landlocked.environment()},
        cwd=folder,
        user="desktop",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_what_is_named_is_read_and_written_and_nothing_else_is(folder: Path) -> None:
    assert run(folder, "cat own/file; echo new > own/made; mv own/made own/moved; cat own/moved").stdout == "ownnew\n"
    for script in ("cat other/file", "ls other", "echo x > other/file", "echo x > made", "rm other/file", "mv own/file other/moved"):
        refused = run(folder, script)
        assert refused.returncode != 0, script
        assert "Permission denied" in refused.stderr, refused.stderr


def test_what_may_be_written_is_not_executed(folder: Path) -> None:
    assert run(folder, "cp /usr/bin/true own/made && own/made").returncode == 126


def test_no_process_outside_is_traced_or_signalled_though_it_is_of_the_same_user(folder: Path) -> None:
    if landlock.abi() < landlock.SCOPES_ABI:
        pytest.skip("this kernel does not scope signals")
    other = subprocess.Popen(["sleep", "60"], user="desktop")
    try:
        assert subprocess.run(["kill", "-0", str(other.pid)], user="desktop", check=False).returncode == 0
        assert run(folder, f"kill -0 {other.pid}").returncode != 0
        for name in ("mem", "environ", "maps"):
            assert "Permission denied" in run(folder, f"head -c 1 /proc/{other.pid}/{name}").stderr
    finally:
        other.kill()
        other.wait(PATIENCE_SECONDS)


def test_the_program_keeps_its_user_and_its_environment_is_clean(folder: Path) -> None:
    assert run(folder, "id -u; echo ${PYTHONPATH:-none}").stdout.split() == ["991", "none"]


def test_without_landlock_nothing_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(landlock, "restrict", refuse)
    monkeypatch.setattr(os, "execvp", lambda *_: pytest.fail("it ran"))
    with pytest.raises(OSError, match="not implemented"):
        landlocked.main([str(folder), "--", "--", "true"])
