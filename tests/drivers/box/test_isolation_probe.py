import os
import subprocess
import sys
from pathlib import Path

from sandbox_server.drivers.box import isolation_probe
from tests.boxes import ROOT, VOLUME

SHOW = "import sys; from sandbox_server.drivers.box.isolation_probe import probe; print(probe(sys.argv[1]))"


def probed(*, user: str | None = None) -> str:
    command = [sys.executable, "-c", SHOW, str(VOLUME)]
    return subprocess.run(command, env={"PYTHONPATH": ROOT}, user=user, capture_output=True, text=True, check=True).stdout.strip()


def test_a_box_can_be_made_here_and_the_probe_leaves_nothing() -> None:
    before = sorted(os.listdir(VOLUME))
    assert probed() == "None"
    assert sorted(os.listdir(VOLUME)) == before


def test_whoever_may_not_make_one_is_told_why() -> None:
    assert "CAP_SETUID" in probed(user="nobody")


def test_an_unnamed_volume_goes_with_the_container_and_the_container_s_own_files_cannot_hold_layers() -> None:
    assert isolation_probe.storage(str(VOLUME)) == "container"
    assert isolation_probe.storage("/usr") == "memory"
    assert isolation_probe.storage("/dev/shm") == "memory"


def test_host_settings_are_writable_where_the_mount_of_proc_sys_is() -> None:
    table = Path("/proc/self/mountinfo").read_text().splitlines()
    protected = any(line.split()[4] == "/proc/sys" and line.split()[5].startswith("ro") for line in table)
    assert isolation_probe.can_write_host_settings() is not protected
