"""The box from inside: what root in it cannot do, and what it can."""

import os

import pytest

from tests.boxes import BoxDaemons
from tests.patience import until

DOWN = 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0))'
"""Takes the loopback interface down (SIOCSIFFLAGS), for which NET_ADMIN over the network is needed."""
ESCAPES = {
    "write the host's core pattern": "echo x > /proc/sys/kernel/core_pattern",
    "make /proc/sys writable": "mount -o remount,rw /proc/sys",
    "take the protection of /proc/sys away": "umount /proc/sys",
    "take all of /proc away": "umount /proc",
    "mount a second /proc": "mkdir -p /tmp/p && mount -t proc proc /tmp/p",
    "mount a second /sys": "mkdir -p /tmp/s && mount -t sysfs sysfs /tmp/s",
    "mount a control group tree": "mkdir -p /tmp/c && mount -t cgroup2 none /tmp/c",
    "restart the machine": "echo b > /proc/sysrq-trigger",
    "read the kernel's memory": "grep -q . /proc/kcore",
    "write into /sys": "touch /sys/fs/cgroup/x",
    "make a control group": "mkdir /sys/fs/cgroup/x || mkdir /sys/fs/cgroup/memory/x",
    "make a disk's device node": "mknod /tmp/disk b 8 0",
    "make a device node for memory": "mknod /tmp/mem c 1 1",
    "take /dev/null from everybody": "chmod 0 /dev/null",
    "remove /dev/null": "rm /dev/null",
    "enter the first process's namespaces": "nsenter -t 1 -m true",
    "enter the first process's user namespace": "nsenter -t 1 -U true",
    "look at the first process's root": "ls /proc/1/root/",
    "read the first process's memory": "head -c 1 /proc/1/maps | grep -q .",
    "read the first process's environment": "tr '\\0' '\\n' < /proc/1/environ | grep -q .",
    "set the clock": "date -s 2000-01-01",
    "set the host's name": "echo x > /proc/sys/kernel/hostname",
    "raise its own priority with the out-of-memory killer": "echo -1000 > /proc/self/oom_score_adj",
    "set network rules": f"python3 -c '{DOWN}'",
    "send raw packets": "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
    "find its files on the volume": "find / -xdev -name state.json -path '*sandbox*' | grep -q .",
}


@pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES)
def test_root_in_the_box_cannot(shared_box: BoxDaemons, script: str) -> None:
    text, ended = shared_box.run(script)
    assert ended.get("exit", 1) != 0, text


def test_no_process_of_the_container_is_to_be_seen(shared_box: BoxDaemons) -> None:
    names = shared_box.out("cat /proc/[0-9]*/comm 2>/dev/null || true").split()
    assert "pytest" not in names
    assert names[0] == "box"


def test_signals_to_everybody_reach_nobody_outside(shared_box: BoxDaemons) -> None:
    shared_box.run("kill -9 1; kill -9 -1")
    assert shared_box.ask("status")["made"] == 1
    assert shared_box.out("echo here") == "here"


def test_the_daemon_s_and_the_spawner_s_sockets_are_out_of_reach(shared_box: BoxDaemons) -> None:
    for path in (shared_box.box_socket, shared_box.spawn_socket):
        assert os.path.exists(path)
        assert shared_box.run(f"ls {path}")[1] == {"exit": 2}
    assert "@" not in shared_box.out("cat /proc/net/unix | awk '{print $8}' | grep '^@.*\\(sandbox\\|tandem\\)' || true")


def test_a_file_worker_cannot_be_traced(shared_box: BoxDaemons) -> None:
    script = (
        "for p in /proc/[0-9]*; do [ $p != /proc/$$ ] && [ $p != /proc/self ] && cat $p/maps; done 2>/dev/null | grep -c sandbox_server"
    )
    assert shared_box.run(script)[0].strip() == "0"


def test_a_second_user_namespace_gives_no_more(shared_box: BoxDaemons) -> None:
    assert shared_box.out("unshare --user --map-root-user id -u") == "0"
    assert shared_box.run("unshare -Urpmf sh -c 'umount /proc/sys || mount -o remount,rw /proc/sys'")[1] != {"exit": 0}
    script = "unshare -Urpmf --mount-proc sh -c 'echo x > /proc/sys/kernel/core_pattern'"
    assert shared_box.run(script)[1] != {"exit": 0}


def test_the_agent_gets_a_terminal_and_shared_memory_of_the_box(shared_box: BoxDaemons) -> None:
    assert shared_box.out("script -qec tty /dev/null", "agent").startswith("/dev/pts/")
    assert shared_box.out("echo x > /dev/shm/x && cat /dev/shm/x; rm /dev/shm/x", "agent") == "x"


def test_root_mounts_what_is_its_own(shared_box: BoxDaemons) -> None:
    assert shared_box.out("mkdir -p /tmp/m && mount -t tmpfs t /tmp/m && echo x > /tmp/m/x && cat /tmp/m/x; umount /tmp/m") == "x"


def test_orphans_are_reaped(shared_box: BoxDaemons) -> None:
    shared_box.out("for _ in {1..200}; do (sleep 0.01; echo >>/tmp/orphans) & done")
    until(lambda: shared_box.out("wc -l </tmp/orphans") == "200")
    until(lambda: shared_box.out("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l") == "0")
