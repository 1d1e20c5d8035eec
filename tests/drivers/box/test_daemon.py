"""The box daemon, over its own wire, with a spawner beside it."""

import os
import signal
from pathlib import Path

import pytest

from sandbox_server.drivers.ipc import descriptor_passing
from tests.boxes import BoxDaemons
from tests.patience import until


def test_the_agent_is_root_in_the_box_where_it_may(shared_box: BoxDaemons) -> None:
    assert shared_box.out("id -u; sudo -n id -u", "agent").split() == ["1000", "0"]


def test_a_checkpoint_brings_back_what_was_changed_and_deleted_since(box: BoxDaemons) -> None:
    box.out("echo one > /home/gem/file; echo kept > /etc/kept; mkdir /top")
    first = box.ask("checkpoint", label="first", who="me")["checkpoint"]["id"]
    box.out("echo two > /home/gem/file; rm /etc/kept; rm -r /usr/share/common-licenses; rmdir /top; chmod 700 /opt")
    box.ask("restore", checkpoint=first, who="me")
    assert box.out("cat /home/gem/file /etc/kept; ls -d /top /usr/share/common-licenses; stat -c %a /opt").split() == [
        "one", "kept", "/top", "/usr/share/common-licenses", "755",
    ]  # fmt: skip


def test_a_restore_keeps_what_there_was_so_that_it_can_be_undone(box: BoxDaemons) -> None:
    box.out("touch /home/gem/mine")
    kept = box.ask("restore", checkpoint=None, who="me")["kept"]
    assert box.run("ls /home/gem/mine")[1] == {"exit": 2}
    box.ask("restore", checkpoint=kept["id"], who="me")
    assert box.out("ls /home/gem/mine") == "/home/gem/mine"
    assert kept["why"] == "before_restore"


def test_a_restore_of_an_untouched_box_keeps_nothing(box: BoxDaemons) -> None:
    assert box.ask("restore", checkpoint=None, who="me")["kept"] is None


def test_a_checkpoint_names_what_it_stopped_but_not_our_own_workers(box: BoxDaemons) -> None:
    sock, started = box.start_process("sleep 600; true")
    with sock:
        stopped = box.ask("checkpoint", label="", who="me", mode="stop")["stopped"]
    assert any(one["pid"] == started["pid"] and "sleep 600" in one["command"] for one in stopped)
    assert not any("sandbox_server" in one["command"] for one in stopped)


def test_a_checkpoint_on_another_than_the_named_parent_is_refused_and_stops_nothing(box: BoxDaemons) -> None:
    sock, _ = box.start_process("exec sleep 600")
    with sock:
        assert box.answer("checkpoint", label="", who="me", parent="0badcafe")["refused"] == "conflict"
        assert box.ask("status")["processes"] == 1


def test_checkpoints_form_a_tree(box: BoxDaemons) -> None:
    first = box.ask("checkpoint", label="a", who="me")["checkpoint"]["id"]
    box.ask("checkpoint", label="b", who="me")
    box.ask("restore", checkpoint=first, who="me")
    box.ask("checkpoint", label="c", who="me")
    found = {one["label"]: one["parent"] for one in box.ask("list")["checkpoints"]}
    assert found == {"a": None, "b": first, "c": first}


def test_a_checkpoint_that_something_stands_on_is_not_removed(box: BoxDaemons) -> None:
    first = box.ask("checkpoint", label="a", who="me")["checkpoint"]["id"]
    assert box.answer("remove", checkpoint=first)["refused"] == "conflict"
    box.ask("restore", checkpoint=None, who="me")
    box.ask("remove", checkpoint=first)
    assert box.ask("list")["checkpoints"] == []


@pytest.mark.parametrize("operation", ["restore", "remove", "squash", "export"])
@pytest.mark.parametrize("name", ["0badcafe", "../up", "", "a" * 300])
def test_a_checkpoint_that_is_not_there_is_named(shared_box: BoxDaemons, operation: str, name: str) -> None:
    answer = shared_box.answer(operation, 1, checkpoint=name, who="me")
    assert answer["refused"] == "not_found"


def test_unknown_and_malformed_requests_are_refused(shared_box: BoxDaemons) -> None:
    assert shared_box.answer("dance")["refused"] == "not_found"
    for operation in ("checkpoint", "restore"):
        assert shared_box.answer(operation)["refused"] == "invalid_argument"
    assert shared_box.ask("status")["made"] == 1


def test_the_death_of_the_first_process_ends_everything_and_a_new_box_keeps_the_files(box: BoxDaemons) -> None:
    box.out("echo here > /home/gem/file")
    sock, _ = box.start_process("sleep 600")
    with sock:
        os.kill(box.init, signal.SIGKILL)
        assert descriptor_passing.receive(sock)[0] == {"signal": signal.SIGKILL}
    until(lambda: box.ask("status")["made"] == 2)
    assert box.out("cat /home/gem/file") == "here"


def test_the_box_outlives_its_daemon_and_its_spawner(box: BoxDaemons) -> None:
    sock, started = box.start_process("sleep 600; true")
    pid, init = started["pid"], box.init
    box.end_box_daemon()
    assert box.out("echo still") == "still"
    box.start_box_daemon()
    assert box.ask("status")["running"]
    assert box.init == init
    sock.close()
    box.end_spawner()
    box.start_spawner()
    assert box.out(f"echo; test $$ -gt {pid} && echo same box") == "same box"


def test_the_end_of_the_daemon_with_its_box_gives_a_new_one_with_the_same_files(box: BoxDaemons) -> None:
    box.out("echo here > /home/gem/file")
    box.end_box_daemon(signal.SIGTERM)
    box.end_spawner()
    box.start_box_daemon()
    box.start_spawner()
    assert box.out("cat /home/gem/file") == "here"


def test_a_stranger_is_turned_away(shared_box: BoxDaemons) -> None:
    status = os.stat(shared_box.box_socket)
    assert (status.st_mode & 0o777, status.st_uid) == (0o600, 1)


def test_a_shared_directory_is_in_no_checkpoint_but_the_system_always_is(box: BoxDaemons) -> None:
    box.end_spawner()
    box.end_box_daemon(signal.SIGTERM)
    box.start_box_daemon("--shared", "/home/gem", "--shared", "/usr/local")
    box.start_spawner()
    mark = f"mark-{box.store.name}"
    box.out(f"touch /home/gem/{mark} /usr/local/{mark}")
    try:
        box.ask("restore", checkpoint=None, who="me", keep=False)
        assert box.out(f"ls /home/gem/{mark}")
        assert box.run(f"ls /usr/local/{mark}")[1] == {"exit": 2}
        assert not os.path.exists(f"/usr/local/{mark}")
    finally:
        Path(f"/home/gem/{mark}").unlink()
