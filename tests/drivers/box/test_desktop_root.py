"""What programs on the desktop see of the box, and what the box's root can do to them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box.desktop_root import SYSTEM, shown, viewable
from sandbox_server.drivers.ipc import descriptor_passing
from tests.boxes import BoxDaemons

TRACE = "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0) != 0)"
"""Attaches to a process (PTRACE_ATTACH)."""


@pytest.fixture
def on_desktop(shared_box: BoxDaemons) -> Iterator[int]:
    """A process on the desktop, by its number in the box."""
    sock, started = shared_box.start_process("SECRET=x exec sleep 600", "desktop")
    with sock:
        assert "pid" in started, started
        yield int(started["pid"])


def test_the_box_s_files_are_shown_and_what_is_saved_is_the_box_s(shared_box: BoxDaemons) -> None:
    shared_box.out("mkdir -m 0777 -p /tmp/desk && echo here > /tmp/desk/a && echo here > /home/gem/a", "root")
    assert shared_box.out("cat /tmp/desk/a /home/gem/a && echo saved > /tmp/desk/b", "desktop").split() == ["here", "here"]
    assert shared_box.out("cat /tmp/desk/b") == "saved"


def test_programs_are_the_image_s_whatever_the_box_s_root_did_to_its_own(box: BoxDaemons) -> None:
    box.out("echo '#!/bin/sh' > /usr/bin/id; echo 'echo mine' >> /usr/bin/id; chmod 755 /usr/bin/id; echo x > /etc/ld.so.preload")
    assert box.out("id -un").endswith("mine")
    assert box.out("id -un; test ! -e /etc/ld.so.preload", "desktop") == "desktop"


def test_processes_are_numbered_as_in_the_box(shared_box: BoxDaemons) -> None:
    text, _ = shared_box.run("readlink /proc/self; echo $$", "desktop")
    assert len(text.split()) == 2
    assert "cat" in shared_box.out("cat /proc/self/comm", "desktop")


@pytest.mark.parametrize(
    "look", ["head -c 1 {}/environ | grep -q .", "head -c 1 {}/maps | grep -q .", "readlink {}/fd/0", "ls {}/root/", "ls {}/cwd/"]
)
def test_root_in_the_box_reads_nothing_of_it(shared_box: BoxDaemons, on_desktop: int, look: str) -> None:
    look = look.format(f"/proc/{on_desktop}")
    assert shared_box.run(look)[1] != {"exit": 0}
    assert shared_box.run(f"setpriv --reuid 991 --regid 991 --clear-groups sh -c '{look}'")[1] != {"exit": 0}


def test_root_in_the_box_cannot_trace_or_end_it(shared_box: BoxDaemons, on_desktop: int) -> None:
    assert shared_box.run(f"python3 -c '{TRACE}' {on_desktop}")[1] != {"exit": 0}
    assert shared_box.run(f"kill -9 {on_desktop}")[1] != {"exit": 0}
    assert shared_box.run(f"nsenter -t {on_desktop} -m true")[1] != {"exit": 0}


def test_the_store_and_the_control_side_s_files_do_not_show(shared_box: BoxDaemons) -> None:
    assert shared_box.run(f"ls {shared_box.store}", "desktop")[1] != {"exit": 0}
    assert os.listdir(shared_box.store)


def test_no_link_that_the_agent_makes_leads_out_of_the_agent_s_files(shared_box: BoxDaemons) -> None:
    shared_box.out("mkdir -p /tmp/links && ln -sfn /etc /tmp/links/system && ln -sfn /tmp/desk /tmp/links/own", "root")
    assert shared_box.out("ls /tmp/links/system/")
    for link in ("system", "own"):
        assert shared_box.run(f"ls /tmp/links/{link}/", "desktop")[1] != {"exit": 0}
    assert shared_box.out("ls /tmp/links && readlink /proc/self/exe", "desktop").split()[:2] == ["own", "system"]


def test_it_ends_with_its_box_and_starts_in_the_next(box: BoxDaemons) -> None:
    sock, _ = box.start_process("sleep 600", "desktop")
    with sock:
        box.ask("replace")
        assert descriptor_passing.receive(sock)[0] == {"signal": 9}
    assert box.out("id -un", "desktop") == "desktop"


def test_the_next_daemon_finds_it(box: BoxDaemons) -> None:
    box.out("echo kept > /home/gem/kept")
    box.end_box_daemon()
    box.start_box_daemon()
    box.end_spawner()
    box.start_spawner()
    assert box.out("cat /home/gem/kept", "desktop") == "kept"


def test_a_link_is_not_followed_and_the_system_stays_the_image_s(tmp_path: Path) -> None:
    for name in ("home", "tmp", "work", "usr", "etc"):
        (tmp_path / name).mkdir()
    (tmp_path / "srv").symlink_to("/etc")
    (tmp_path / "file").touch()
    assert list(shown(str(tmp_path))) == ["home", "tmp", "work"]
    assert {"usr", "etc", "run", "lib64"} <= set(SYSTEM)


def test_what_may_be_shown_are_the_agent_s_directories() -> None:
    found = viewable()
    assert {"/home", "/tmp"} <= set(found)
    assert not {"/proc", *(f"/{name}" for name in SYSTEM)} & set(found)
