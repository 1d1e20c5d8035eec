"""Checkpoints of a box that runs: nothing is stopped, and a restore gives exactly what there was."""

import os
import random
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import Message
from tests.boxes import BoxDaemons
from tests.patience import until

LIST = (
    "cd /home/gem && find . -type d -printf '%p %y %m %u %g\\n' | sort; "
    "find . ! -type d -printf '%p %y %m %u %g %s %l %n %t\\n' | sort; find . -type f | sort | xargs -d '\\n' md5sum; "
    "getfattr -Rd . 2>/dev/null; cat /etc/kept; ls /opt /usr/share/common-licenses | head -50"
)


@contextmanager
def running(box: BoxDaemons, script: str = "exec sleep 600") -> Iterator[int]:
    """A program that runs in the box; its number there."""
    sock, started = box.start_process(script)
    with sock:
        yield started["pid"]


def live(box: BoxDaemons, **more: object) -> dict[str, object]:
    return box.ask("checkpoint", label="", who="me", mode="live", **more)


def answer_of(asked: socket.socket) -> Message:
    _, received = descriptor_passing.receive(asked)
    try:
        return descriptor_passing.read_body(received[0])
    finally:
        descriptor_passing.close_all(received)


def made(box: BoxDaemons) -> str:
    found = live(box)["checkpoint"]
    assert isinstance(found, dict)
    return str(found["id"])


def listed(box: BoxDaemons) -> str:
    return box.out(LIST + "; true")


def test_what_runs_goes_on_and_nothing_is_named_as_stopped(box: BoxDaemons) -> None:
    with running(box, "while :; do echo x >> /home/gem/log; sleep 0.01; done") as pid:
        until(lambda: box.run("test -s /home/gem/log")[1] == {"exit": 0})
        answer = live(box)
        assert (answer["stopped"], answer["mode"], box.ask("status")["made"]) == ([], "live", 1)
        assert box.out(f"test -d /proc/{pid} && echo there") == "there"
        lines = int(box.out("wc -l < /home/gem/log"))
        until(lambda: int(box.out("wc -l < /home/gem/log")) > lines)


def test_one_is_live_by_itself_where_something_runs_and_stops_nothing_where_nothing_does(box: BoxDaemons) -> None:
    with running(box):
        assert box.ask("checkpoint", label="", who="me")["mode"] == "live"
    box.ask("replace")
    assert box.ask("checkpoint", label="", who="me")["mode"] == "stop"


CHANGES = [
    "mkdir -p a/b/c; echo 1 > a/b/c/f; ln a/b/c/f hard; ln -s /etc/passwd link; mkfifo pipe; chmod 4755 a/b/c/f",
    "rm a/b/c/f; echo 2 > a/g; mv a/b moved; truncate -s 1G sparse; echo end >> sparse",
    "rm -r moved; mkdir moved; echo new > moved/f; setfattr -n user.mark -v 1 moved/f; chown 1000:1000 moved",
    "echo kept > /etc/kept; rm -rf /usr/share/common-licenses; rmdir /opt/* 2>/dev/null; true",
    "mkdir /usr/share/common-licenses; echo mine > /usr/share/common-licenses/GPL",
    "rm -rf a; mkdir a; mkdir a/b; echo other > a/b/x; mv a/b a/c; echo again > /etc/kept; rm sparse pipe link",
    "mv a d; mkdir a; mv d a/d; rm -rf moved; ln hard again; touch -d @1 hard",
]


@pytest.mark.limit(900)
def test_each_state_comes_back_as_it_was(box: BoxDaemons) -> None:
    states: list[tuple[str, str]] = []
    with running(box):
        for change in CHANGES:
            box.out(f"cd /home/gem; {change}")
            states.append((made(box), listed(box)))
    for checkpoint, state in reversed(states):
        box.ask("restore", checkpoint=checkpoint, who="me", keep=False)
        assert listed(box) == state
    head = box.ask("list")["head"]
    assert head == states[0][0]


NAMES = ["p", "q", "r"]


def _random_change(choose: random.Random) -> str:
    def path() -> str:
        return "/".join(choose.choice(NAMES) for _ in range(choose.randint(1, 3)))

    one, other = path(), path()
    return choose.choice(
        [
            f"mkdir -p {one}", f"echo {choose.random()} > {one}", f"rm -rf {one}", f"mv -T {one} {other}", f"ln {one} {other}",
            f"echo {choose.random()} >> {one}", f"cp -a {one} {other}", f"chmod 7{choose.randint(0, 7)}5 {one}", f"ln -sfn {other} {one}",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_come_back_as_they_were_and_after_a_new_box_too(box: BoxDaemons, seed: int) -> None:
    choose = random.Random(seed)
    box.out("cd /home/gem; mkdir -p p/q/r q/r; echo lower > p/q/r/file; echo lower > q/r/p")
    box.ask("checkpoint", label="", who="me", mode="stop")
    states: list[tuple[str, str]] = []
    for number in range(12):
        with running(box):
            changes = "; ".join(f"{{ {_random_change(choose)}; }} 2>/dev/null" for _ in range(12))
            box.run(f"cd /home/gem; {changes}")
            states.append((made(box), listed(box)))
        if number == 5:
            box.ask("replace")
            assert listed(box) == states[-1][1]
        if number in (3, 8):
            back = states[-1] if number == 3 else states[4]
            box.ask("restore", checkpoint=back[0], who="me", keep=number == 3)
            assert listed(box) == back[1]
    for checkpoint, state in reversed(states):
        box.ask("restore", checkpoint=checkpoint, who="me", keep=False)
        assert listed(box) == state, checkpoint


def test_only_what_changed_is_copied(box: BoxDaemons) -> None:
    with running(box):
        box.out("head -c 20M /dev/urandom > /home/gem/large")
        first = live(box)
        box.out("sleep 0.1; echo small > /home/gem/small")
        second = live(box)
    assert int(str(first["copied_bytes"])) >= 20 << 20
    assert int(str(second["copied_bytes"])) < 1 << 20
    layer = box.store / "l" / str(second["checkpoint"]["id"])  # type: ignore[index]
    assert sorted(os.listdir(layer / "home/gem")) == ["small"]


def test_a_file_that_is_mapped_to_be_written_is_copied_each_time(box: BoxDaemons) -> None:
    program = (
        "import mmap, os, signal, time\n"
        "file = open('/home/gem/mapped', 'w+b'); file.truncate(4096); area = mmap.mmap(file.fileno(), 4096)\n"
        "area[0:1] = b'0'; open('/home/gem/ready', 'w').close()\n"
        "while True:\n"
        "    if os.path.exists('/home/gem/go'): area[0:1] = b'1'; open('/home/gem/gone', 'w').close()\n"
        "    time.sleep(0.01)\n"
    )
    with running(box, f'exec python3 -c "{program}"'):
        until(lambda: box.run("test -e /home/gem/ready")[1] == {"exit": 0})
        first = made(box)
        box.out("sleep 0.1; touch /home/gem/go")
        until(lambda: box.run("test -e /home/gem/gone")[1] == {"exit": 0})
        second = made(box)
    for checkpoint, content in ((first, "0"), (second, "1")):
        box.ask("restore", checkpoint=checkpoint, who="me", keep=False)
        assert box.out("head -c 1 /home/gem/mapped") == content


def test_what_changed_since_a_live_checkpoint_is_kept_at_a_restore(box: BoxDaemons) -> None:
    with running(box):
        box.out("echo one > /home/gem/file; echo old > /home/gem/gone")
        first = made(box)
        box.out("echo two > /home/gem/file; rm /home/gem/gone")
    kept = box.ask("restore", checkpoint=first, who="me")["kept"]
    assert box.out("cat /home/gem/file /home/gem/gone").split() == ["one", "old"]
    box.ask("restore", checkpoint=kept["id"], who="me", keep=False)
    assert box.out("cat /home/gem/file; ls /home/gem").split() == ["two", "file"]


def test_one_after_a_restore_is_of_what_was_restored_and_not_of_what_was_there_before(box: BoxDaemons) -> None:
    with running(box):
        box.out("echo one > /home/gem/file; mkdir /opt/made")
        first = made(box)
    box.ask("restore", checkpoint=first, who="me")
    with running(box):
        box.out("echo two > /home/gem/other")
        second, state = made(box), listed(box)
    box.ask("restore", checkpoint=second, who="me", keep=False)
    assert listed(box) == state
    assert box.out("cat /home/gem/file /home/gem/other; ls -d /opt/made; ls /usr/bin/env").split() == [
        "one",
        "two",
        "/opt/made",
        "/usr/bin/env",
    ]


def test_one_that_stopped_the_box_after_a_live_one_is_what_the_next_stands_on(box: BoxDaemons) -> None:
    with running(box):
        box.out("echo one > /home/gem/file")
        made(box)
        box.out("rm /home/gem/file; echo two > /home/gem/other")
    box.ask("checkpoint", label="", who="me", mode="stop")
    with running(box):
        box.out("echo three > /home/gem/third")
        last, state = made(box), listed(box)
    box.ask("restore", checkpoint=last, who="me", keep=False)
    assert listed(box) == state


def test_a_daemon_that_is_killed_in_the_middle_leaves_the_store_as_before_and_the_box_goes_on(box: BoxDaemons) -> None:
    with running(box, "while :; do echo x >> /home/gem/log; sleep 0.01; done"):
        first = made(box)
        box.out("head -c 200M /dev/zero > /home/gem/large")
        asked = box.request_box_daemon("checkpoint", label="", who="me", mode="live")
        with asked:
            until(lambda: any(name.startswith("draft-") for name in os.listdir(box.store)))
            box.end_box_daemon(signal.SIGKILL)
        box.start_box_daemon()
        told = box.ask("list")
        assert ([one["id"] for one in told["checkpoints"]], told["head"]) == ([first], first)
        lines = int(box.out("wc -l < /home/gem/log"))
        until(lambda: int(box.out("wc -l < /home/gem/log")) > lines)
        until(lambda: not any(name.startswith(("draft-", "gone-")) for name in os.listdir(box.store)))
        second = made(box)
    box.ask("restore", checkpoint=second, who="me", keep=False)
    assert box.out("stat -c %s /home/gem/large") == str(200 << 20)


def test_who_hangs_up_ends_the_copy_and_the_box_goes_on(box: BoxDaemons) -> None:
    with running(box):
        box.out("head -c 100M /dev/zero > /home/gem/large")
        asked: socket.socket = box.request_box_daemon("checkpoint", label="", who="me", mode="live")
        until(lambda: any(name.startswith("draft-") for name in os.listdir(box.store)))
        asked.close()
        until(lambda: not any(name.startswith(("draft-", "gone-")) for name in os.listdir(box.store)))
        assert box.ask("list")["checkpoints"] == []
        assert box.out("echo here") == "here"


def test_while_one_is_made_there_is_no_other_and_what_ends_the_box_does_not_wait(box: BoxDaemons) -> None:
    with running(box):
        box.out("head -c 300M /dev/zero > /home/gem/large")
        with box.request_box_daemon("checkpoint", label="", who="me", mode="live") as asked:
            until(lambda: any(name.startswith("draft-") for name in os.listdir(box.store)))
            assert box.answer("checkpoint", label="", who="me", mode="live")["refused"] == "unavailable"
            box.ask("restore", checkpoint=None, who="me", keep=True)
            told = answer_of(asked)
            assert told["refused"] == "unavailable"
            assert "nothing was kept" in told["message"]
    until(lambda: not any(name.startswith(("draft-", "gone-")) for name in os.listdir(box.store)))
    kept = box.ask("list")["checkpoints"]
    assert [one["why"] for one in kept] == ["before_restore"]
    box.ask("restore", checkpoint=kept[0]["id"], who="me", keep=False)
    assert box.out("stat -c %s /home/gem/large") == str(300 << 20)


def test_a_tree_too_deep_is_refused_and_nothing_is_left(box: BoxDaemons) -> None:
    deep = "import os\nos.chdir('/home/gem')\nfor _ in range(400): os.mkdir('d'); os.chdir('d')"
    with running(box):
        box.out(f'python3 -c "{deep}"')
        answer = box.answer("checkpoint", label="", who="me", mode="live")
        assert answer["refused"] == "conflict"
        assert "stop" in answer["message"]
        until(lambda: not any(name.startswith(("draft-", "gone-")) for name in os.listdir(box.store)))
        assert box.ask("list") == {"head": None, "base": None, "checkpoints": []}


def test_a_suspended_box_stays_suspended(box: BoxDaemons) -> None:
    with running(box):
        box.out("touch /home/gem/file")
        box.ask("freeze")
        made(box)
        assert box.ask("status")["frozen"]
        box.ask("thaw")


def test_only_changes_are_kept_where_only_those_are_wanted(box: BoxDaemons) -> None:
    with running(box):
        box.out("touch /home/gem/file; sleep 0.1")
        made(box)
        assert live(box, if_changed=True)["unchanged"]
        box.out("touch /home/gem/other")
        assert live(box, if_changed=True)["checkpoint"]


def test_what_the_box_is_mounted_on_cannot_go(box: BoxDaemons) -> None:
    box.out("touch /home/gem/a")
    base = box.ask("checkpoint", label="", who="me", mode="stop")["checkpoint"]["id"]
    with running(box):
        box.out("touch /home/gem/b")
        head = made(box)
    for one in (base, head):
        assert box.answer("remove", checkpoint=one)["refused"] == "conflict"
    box.ask("squash", checkpoint=head)
    assert box.answer("remove", checkpoint=base)["refused"] == "conflict"
    with running(box):
        box.out("rm /home/gem/b; touch /home/gem/c")
        last = made(box)
    box.ask("restore", checkpoint=last, who="me", keep=False)
    assert box.out("ls /home/gem").split() == ["a", "c"]
