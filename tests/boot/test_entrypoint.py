"""What the container was given is read once, and is in no environment that lives on."""

import os
import subprocess
import sys
from pathlib import Path

from sandbox_server import timeouts
from sandbox_server.boot import entrypoint

ODD = {"SANDBOX_API_KEY": "k", "TEXT": "a=b\nc", "EMPTY": "", "BYTES": os.fsdecode(b"\xff\xfe")}


def test_what_is_hidden_is_in_no_variable_and_is_taken_whole() -> None:
    shown = entrypoint.hide(ODD)
    assert set(shown) == {"LANG", "PATH", entrypoint.VARIABLE}
    assert entrypoint.take(shown) == ODD
    assert entrypoint.VARIABLE not in shown


def test_what_boot_reads_when_it_is_imported_stays_and_is_taken_too() -> None:
    given = {**ODD, timeouts.VARIABLE: "3"}
    shown = entrypoint.hide(given)
    assert set(shown) == {"LANG", "PATH", entrypoint.VARIABLE, timeouts.VARIABLE}
    assert shown[timeouts.VARIABLE] == "3"
    assert entrypoint.take(shown) == given


def test_no_other_user_may_open_the_memory_by_its_descriptor() -> None:
    shown = entrypoint.hide(ODD)
    assert os.fstat(int(shown[entrypoint.VARIABLE])).st_mode & 0o777 == 0o600
    entrypoint.take(shown)


def test_more_than_a_pipe_holds_is_kept() -> None:
    large = {"LARGE": "x" * (3 << 20)}
    assert entrypoint.take(entrypoint.hide(large)) == large


def test_what_was_taken_is_not_there_for_who_still_holds_the_memory() -> None:
    shown = entrypoint.hide(ODD)
    held = os.dup(int(shown[entrypoint.VARIABLE]))
    entrypoint.take(shown)
    assert os.pread(held, 100, 0) == b""
    os.close(held)


def test_without_a_first_step_the_environment_is_what_was_given() -> None:
    assert entrypoint.take(dict(ODD)) == ODD


def test_an_empty_environment_is_taken_as_one() -> None:
    assert entrypoint.take(entrypoint.hide({})) == {}


def test_the_process_that_follows_shows_nothing_of_it(tmp_path: Path) -> None:
    script = Path(entrypoint.__file__).read_text().replace("BOOT[0], BOOT,", "'/bin/cat', ['cat', '/proc/self/environ'],")
    (tmp_path / "entrypoint.py").write_text(script)
    command = [sys.executable, "-I", "-S", str(tmp_path / "entrypoint.py")]
    shown = subprocess.run(command, env={"SANDBOX_API_KEY": "hunter2"}, capture_output=True, check=True).stdout
    assert b"hunter2" not in shown
    assert b"SANDBOX_ENVIRON_FD=" in shown
