"""What the host does to the container, and which flags follow from it."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.drivers.box import host_capabilities
from sandbox_server.drivers.box.host_capabilities import APPARMOR_FLAG, PATHS_FLAG, SECCOMP_FLAG, Host

BEST = Host(root=True, apparmor="", gvisor=False, mapped=False, masked=False, namespaces=0, capabilities=(), landlock=7)


def test_where_nothing_is_missing_there_is_no_flag() -> None:
    assert (BEST.flags, BEST.conditions) == ([], ["Landlock 7"])


@pytest.mark.parametrize(
    ("found", "flag"),
    [
        (replace(BEST, apparmor="docker-default"), APPARMOR_FLAG),
        (replace(BEST, namespaces=errno.EPERM), SECCOMP_FLAG),
        (replace(BEST, masked=True), PATHS_FLAG),
        (replace(BEST, capabilities=("SETUID", "SETFCAP")), "--cap-add SETUID --cap-add SETFCAP"),
        (replace(BEST, root=False), "no --user: it changes to three users of its own"),
        (replace(BEST, namespaces=errno.ENOSPC), "user.max_user_namespaces above 0, a setting of the host's kernel"),
    ],
)
def test_each_thing_that_is_missing_has_its_flag_and_a_sentence(found: Host, flag: str) -> None:
    assert found.flags == [flag]
    assert len(found.conditions) == 2


def test_gvisor_and_rootless_engines_are_told_and_have_no_flag() -> None:
    found = replace(BEST, gvisor=True, mapped=True, landlock=0)
    assert found.flags == []
    assert [sentence.split()[0] for sentence in found.conditions] == ["the", "users", "no"]


@pytest.mark.parametrize(
    ("label", "profile"),
    [
        ("docker-default (enforce)\n", "docker-default"),
        ("unconfined\n", ""),
        ("x (complain)", ""),
        ("", ""),
        ("system_u:system_r:x:s0\0", ""),
    ],
)
def test_an_apparmor_profile_counts_where_it_is_enforced(label: str, profile: str) -> None:
    assert host_capabilities.apparmor_profile(label) == profile


def test_a_proc_with_mounts_below_it_is_covered() -> None:
    line = "30 20 0:5 / {} rw - proc proc rw\n"
    assert not host_capabilities.is_covered(line.format("/proc"))
    assert host_capabilities.is_covered(line.format("/proc") + line.format("/proc/kcore"))


def test_files_that_are_missing_are_nothing_found(tmp_path: Path) -> None:
    found = host_capabilities.look(str(tmp_path))
    assert (found.apparmor, found.gvisor, found.mapped, found.masked) == ("", False, False, False)
    (tmp_path / "version").write_text("Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "uid_map").write_text("         0     100000      65536\n")
    found = host_capabilities.look(str(tmp_path))
    assert found.gvisor
    assert found.mapped


def test_this_container_allows_namespaces() -> None:
    assert host_capabilities.refusal_of_namespaces() == 0
    assert host_capabilities.look().root == (os.geteuid() == 0)
