"""What a process is, whatever it calls itself."""

import os
import subprocess
import sys

import pytest

from sandbox_server.drivers.shells.proc_fields import FIELDS

NAMES = ["plain", "a) S 1 1 1", "two\nlines", "*", "$(id)"]


@pytest.mark.parametrize("name", NAMES)
def test_the_fields_are_those_behind_the_whole_name(name: str) -> None:
    renamed = f"open('/proc/self/comm', 'w').write({name!r}); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", renamed], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        script = f'{FIELDS}fields_of "$1" && set -- $fields && echo "$2 $3"'
        said = subprocess.run(["sh", "-f", "-c", script, "sh", str(process.pid)], capture_output=True, text=True, check=True, timeout=30)
        process.communicate("\n")
    parent, group = said.stdout.split()
    assert (int(parent), int(group)) == (os.getpid(), os.getpgrp())


def test_a_process_that_is_gone_has_none() -> None:
    said = subprocess.run(["sh", "-c", f"{FIELDS}fields_of 4194303"], capture_output=True, check=False, timeout=30)
    assert said.returncode != 0
