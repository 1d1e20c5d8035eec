import builtins
import os
import subprocess
import time
from typing import Any

import pytest

from sandbox_server.drivers.stats.processes import ProcessTable

ALL = 100_000


def test_this_process_is_told_of_with_its_descriptors() -> None:
    [found] = [row for row in ProcessTable().rows(ALL) if row.pid == os.getpid()]
    assert (found.ppid, found.cpu_pct) == (os.getppid(), None)
    assert found.rss_bytes > 1 << 20
    assert found.fds
    assert found.threads


def test_the_second_look_tells_who_was_busy_and_lists_them_first() -> None:
    table = ProcessTable()
    table.rows(ALL)
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    rows = table.rows(ALL)
    [own] = [row for row in rows if row.pid == os.getpid()]
    assert own.cpu_pct
    assert own.cpu_pct > 1
    assert [row.cpu_pct or 0 for row in rows] == sorted((row.cpu_pct or 0 for row in rows), reverse=True)


def test_no_more_rows_than_asked_for_are_given() -> None:
    assert len(ProcessTable().rows(1)) == 1


def test_nobodys_command_line_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    with subprocess.Popen(["/bin/bash", "-c", "echo a-name-of-many-letters >/proc/self/comm; read x"], stdin=subprocess.PIPE) as process:
        real = builtins.open

        def noted(path: Any, *given: Any, **named: Any) -> Any:
            opened.append(str(path))
            return real(path, *given, **named)

        monkeypatch.setattr(builtins, "open", noted)
        rows = ProcessTable().rows(ALL)
        process.communicate()

    assert process.pid in [row.pid for row in rows]
    assert opened
    assert [path for path in opened if "cmdline" in path or path.endswith("/environ")] == []
