import os
import socket
import time
from pathlib import Path

import pytest

from sandbox_server.drivers.box import socket_owners
from sandbox_server.drivers.box.processes import Inmate
from sandbox_server.drivers.box.socket_owners import answer, owners_of
from tests.boxes import BoxDaemons
from tests.patience import until

PROGRAM = "python3 -c 'import socket, time; s = socket.create_server((\"127.0.0.1\", 47813)); time.sleep(600)'"


def listening(port: int) -> list[int]:
    """The inodes of what listens on a port, in any network namespace of a process here."""
    found: set[int] = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines = Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]
        except OSError:
            continue
        found |= {int(line.split()[9]) for line in lines if line.split()[1].endswith(f":{port:04X}")}
    return sorted(found - {0})


@pytest.mark.parametrize(("script", "session"), [(f"exec {PROGRAM}", "shell:main"), (f"(env -i /usr/bin/{PROGRAM}) & wait", "bash:hidden")])
def test_a_socket_of_the_box_has_program_and_session(box: BoxDaemons, script: str, session: str) -> None:
    sock, _ = box.start_process(script, session=session)
    with sock:
        until(lambda: listening(47813))
        until(lambda: dict(owners_of(listening(47813))))
        [owner] = dict(owners_of(listening(47813))).values()
        assert owner["session"] == session
        assert str(owner["command"]).endswith("time.sleep(600)")
        assert isinstance(owner["pid"], int)


def test_a_socket_of_nobody_in_the_box_has_no_owner(box: BoxDaemons) -> None:
    with socket.socket() as ours:
        assert answer({"inodes": [os.fstat(ours.fileno()).st_ino, 1 << 40]}) == {"owners": {}}


def test_a_look_ends_in_time_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> set[str]:
        raise AssertionError("it looked at a process after its time")

    many = [Inmate(os.getpid(), 1, 7, 0, "S", "x", False)] * 1000
    monkeypatch.setattr(socket_owners, "latest_inmates", lambda: iter(many))
    monkeypatch.setattr(socket_owners, "LOOK_SECONDS", -1)
    monkeypatch.setattr(socket_owners, "_sockets", look)
    assert list(owners_of([5])) == []


def test_the_look_for_a_session_ends_in_time_too_and_is_made_once_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    one, looked = Inmate(os.getpid(), 1, 7, 0, "S", "x", False), list[int]()
    monkeypatch.setattr(socket_owners, "latest_inmates", lambda: iter([one]))
    monkeypatch.setattr(socket_owners, "inmates", lambda: iter([one] * 1000))
    monkeypatch.setattr(socket_owners, "_sockets", lambda *_: {f"socket:[{inode}]" for inode in range(1, 65)})
    monkeypatch.setattr(socket_owners, "status_of", lambda pid: {"NSsid": ["7"]})

    def session_of(pid: int) -> None:
        looked.append(pid)
        monkeypatch.setattr(time, "monotonic", lambda: float("inf"))

    monkeypatch.setattr(socket_owners, "session_of", session_of)
    assert {owner["session"] for _, owner in owners_of(range(1, 65))} == {None}
    assert len(looked) == 1


@pytest.mark.parametrize("inodes", [None, "5", [0], [-1], ["5"], [True], list(range(1, 100))])
def test_what_is_no_list_of_inodes_is_refused(inodes: object) -> None:
    with pytest.raises(ValueError, match="inodes"):
        answer({"inodes": inodes})
