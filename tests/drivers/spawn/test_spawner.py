"""The spawner daemon, over its own wire."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sandbox_server
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.spawn.child_setup import NICE
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

ROOT = str(Path(sandbox_server.__file__).parent.parent)


# Python ignores SIGPIPE and SIGXFSZ itself, and glibc keeps signals 32 and 33 for its threads.
SELF_REPORT = """
import json, os, resource
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(json.dumps({
    "uid": [int(word) for word in status["Uid"].split()],
    "gid": [int(word) for word in status["Gid"].split()],
    "groups": sorted(os.getgroups()),
    "cwd": os.getcwd(),
    "umask": os.umask(0),
    "env": dict(os.environ),
    "leads": os.getpid() == os.getpgrp() == os.getsid(0),
    "nice": [os.getpriority(os.PRIO_PROCESS, 0), resource.getrlimit(resource.RLIMIT_NICE)],
    "oom": int(open("/proc/self/oom_score_adj").read()),
    "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1],
    "blocked": int(status["SigBlk"], 16),
    "ignored": [n for n in range(1, 65) if int(status["SigIgn"], 16) >> n - 1 & 1 and n not in (13, 25, 32, 33)],
    "nofile": resource.getrlimit(resource.RLIMIT_NOFILE),
}))
"""


def connect(spawner: "SpawnerDaemon") -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(PATIENCE_SECONDS)
    sock.connect(spawner.socket)
    return sock


def ask(sock: socket.socket, *sent: int, **body: object) -> descriptor_passing.Message:
    descriptor_passing.send_request(sock, body, sent)
    reply, _ = descriptor_passing.receive(sock)
    assert reply is not None
    return reply


def report(spawner: "SpawnerDaemon", **body: object) -> Any:
    """What a process of the spawner sees of itself."""
    readable, writable = os.pipe()
    with connect(spawner) as sock, open(readable, "rb") as out:
        assert "pid" in ask(sock, writable, argv=["python3", "-c", SELF_REPORT], fds=["stdout"], **body)
        os.close(writable)
        return json.loads(out.read())


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_process_is_the_agent_and_nobody_else(spawner: "SpawnerDaemon") -> None:
    seen = report(spawner)
    assert (seen["uid"], seen["gid"], seen["groups"]) == ([1000] * 4, [1000] * 4, [1000])


def test_a_process_inherits_nothing_from_the_spawner(spawner: "SpawnerDaemon") -> None:
    seen = report(spawner)
    assert (seen["fds"], seen["blocked"], seen["ignored"], seen["umask"]) == ([0, 1, 2], 0, [], 0o022)
    own = {"HOME": "/home/gem", "USER": "gem", "LOGNAME": "gem"}
    assert seen["env"] == spawner.environment | own


def test_broken_pipes_end_a_process_as_they_would_under_a_shell(spawner: "SpawnerDaemon") -> None:
    readable, writable = os.pipe()
    os.close(readable)
    with connect(spawner) as sock:
        ask(sock, writable, argv=["cat", "/etc/passwd"], fds=["stdout"])
        assert descriptor_passing.receive(sock)[0] == {"signal": signal.SIGPIPE}
    os.close(writable)


def test_a_process_leads_its_own_session_and_is_the_first_to_go_when_memory_runs_out(spawner: "SpawnerDaemon") -> None:
    seen = report(spawner)
    assert (seen["leads"], seen["oom"]) == (True, 500)
    assert report(spawner, oom_score=200)["oom"] == 200
    assert report(spawner, oom_score=-1000)["oom"] == 0


def test_a_process_of_the_agent_has_less_weight_than_the_spawner_and_cannot_get_more(spawner: "SpawnerDaemon") -> None:
    assert report(spawner)["nice"] == [NICE, [0, 0]]
    assert report(spawner, user="root")["nice"] == [NICE, [0, 0]]


def test_a_process_starts_in_the_workspace_or_where_it_is_told(spawner: "SpawnerDaemon") -> None:
    assert report(spawner)["cwd"] == spawner.environment["WORKSPACE"]
    assert report(spawner, cwd="/usr")["cwd"] == "/usr"


def test_a_process_without_a_directory_starts_in_one_that_is_left(spawner: "SpawnerDaemon") -> None:
    os.rmdir(spawner.environment["WORKSPACE"])
    assert report(spawner)["cwd"] == "/home/gem"


def test_the_environment_of_a_request_goes_over_the_base(spawner: "SpawnerDaemon") -> None:
    seen = report(spawner, env={"LANG": "C", "EXTRA": "1", "HOME": "/tmp"})["env"]
    assert (seen["LANG"], seen["EXTRA"], seen["HOME"], seen["PATH"]) == ("C", "1", "/tmp", spawner.environment["PATH"])


def test_limits_hold_in_the_process(spawner: "SpawnerDaemon") -> None:
    assert report(spawner, limits={"nofile": 77})["nofile"] == [77, 77]
    before = subprocess.run([sys.executable, "-c", "import resource; print(resource.getrlimit(7)[0])"], capture_output=True, check=True)
    assert report(spawner)["nofile"][0] == int(before.stdout)


def test_root_is_a_process_s_user_only_where_it_is_allowed(spawner: "SpawnerDaemon") -> None:
    seen = report(spawner, user="root")
    assert (seen["uid"][0], seen["env"]["HOME"]) == (0, "/root")
    spawner.stop()
    spawner.start()
    with connect(spawner) as sock:
        reply = ask(sock, argv=["true"], user="root")
    assert reply["error"] == 1
    assert "root" in reply["message"]


def test_what_runs_beside_the_agent_is_found_and_starts_where_the_agent_writes_nothing(spawner: "SpawnerDaemon", home: Path) -> None:
    shadow = home / ".local" / "bin" / "python3"
    shadow.parent.mkdir(parents=True)
    shadow.write_text("#!/bin/sh\necho '\"shadow\"'\n")
    shadow.chmod(0o755)
    spawner.stop()
    spawner.environment |= {"HOME": str(home), "PATH": f"{shadow.parent}:{spawner.environment['PATH']}"}
    spawner.start("--desktop", "desktop", "--allow-root")
    assert report(spawner) == "shadow", "the agent has what it has installed"
    for user, whose in (("desktop", "/nonexistent"), ("root", "/root")):
        seen = report(spawner, user=user)
        assert (seen["env"]["HOME"], seen["cwd"]) == (whose, "/" if user == "desktop" else whose)
        assert str(home) not in str(seen["env"])


def test_without_root_processes_run_as_the_spawner_s_own_user(spawner: "SpawnerDaemon") -> None:
    spawner.stop()
    Path(spawner.socket).parent.chmod(0o777)
    Path(spawner.socket).with_name("agent-env.json").chmod(0o644)
    spawner.start(user="gem")
    seen = report(spawner)
    assert (seen["uid"], seen["cwd"]) == ([1000] * 4, spawner.environment["WORKSPACE"])


def test_a_stranger_is_refused_even_where_the_socket_lets_him_in(spawner: "SpawnerDaemon") -> None:
    os.chmod(spawner.socket, 0o666)
    script = f"""
import socket
sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
sock.settimeout(30)
sock.connect({spawner.socket!r})
print(sock.recv(100))
"""
    stranger = subprocess.run([sys.executable, "-c", script], user="nobody", capture_output=True, text=True, check=True)
    assert stranger.stdout == "b''\n"


def test_the_socket_is_for_the_client_s_user_alone(spawner: "SpawnerDaemon") -> None:
    status = os.stat(spawner.socket)
    assert (status.st_mode & 0o777, status.st_uid) == (0o600, 1)


@pytest.mark.parametrize(
    "body",
    [{}, {"argv": []}, {"argv": "true"}, {"argv": [1]}, {"argv": ["true"], "fds": ["stdout"]}, {"argv": ["true"], "limits": {"shoe": 1}},
     {"argv": ["true"], "env": 3}, {"argv": ["true"], "limits": {"nofile": "x"}}, {"argv": ["true"], "cwd": 3}],
)  # fmt: skip
def test_a_malformed_request_is_answered_and_the_next_one_served(spawner: "SpawnerDaemon", body: dict[str, Any]) -> None:
    with connect(spawner) as sock:
        assert ask(sock, **body)["error"]
    assert report(spawner)["uid"][0] == 1000


@pytest.mark.parametrize("packet", [b"not json", b"[]", b'{"kill": "x"}', b'{"kill": 99999}', b"{}", b"x" * (1 << 17)])
def test_a_malformed_packet_harms_nobody(spawner: "SpawnerDaemon", packet: bytes) -> None:
    with connect(spawner) as sock:
        ask(sock, argv=["true"])
        sock.send(packet)
    with connect(spawner) as sock:
        sock.send(packet)
    assert report(spawner)["uid"][0] == 1000


def test_a_client_that_goes_away_takes_its_process_group_along(spawner: "SpawnerDaemon") -> None:
    readable, writable = os.pipe()
    with connect(spawner) as sock:
        leader = ask(sock, writable, argv=["sh", "-c", "sleep 60 & echo $!; wait"], fds=["stdout"])["pid"]
        child = int(os.read(readable, 100))
    until(lambda: not is_running(leader) and not is_running(child))
    os.close(readable)
    os.close(writable)


def test_a_process_that_is_to_be_kept_outlives_its_client_and_is_still_reaped(spawner: "SpawnerDaemon") -> None:
    with connect(spawner) as sock:
        kept = ask(sock, argv=["sleep", "60"], on_disconnect="keep")["pid"]
    report(spawner)  # by now the daemon has seen the client go
    assert is_running(kept)
    os.kill(kept, signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{kept}"))


def test_a_spawner_that_is_stopped_ends_its_processes(spawner: "SpawnerDaemon") -> None:
    with connect(spawner) as sock:
        pid = ask(sock, argv=["sleep", "60"])["pid"]
        spawner.stop()
        until(lambda: not is_running(pid))


def test_a_worker_keeps_no_descriptor_of_the_spawner(spawner: "SpawnerDaemon") -> None:
    with connect(spawner) as other, connect(spawner) as sock:
        ask(other, argv=["sleep", "60"])
        descriptor_passing.send_request(sock, {"worker": True})
        reply, (fd,) = descriptor_passing.receive(sock)
        with socket.socket(fileno=fd) as worker:
            worker.settimeout(PATIENCE_SECONDS)
            worker.sendall(b"who")
            uid, pid, fds = map(int, worker.recv(100).split())
    assert reply
    assert (uid, pid, fds) == (1000, reply["pid"], 5)  # three streams, its socket, the listing itself


@pytest.mark.slow
def test_thousands_of_processes_leave_no_zombie_and_no_descriptor(spawner: "SpawnerDaemon") -> None:
    fds = Path(f"/proc/{spawner.pid}/fd")
    with connect(spawner) as sock:  # served, so it has opened all that is its own
        ask(sock, argv=["true"])
        assert descriptor_passing.receive(sock)[0] == {"exit": 0}
        at_rest = len(os.listdir(fds)) - 1
    for number in range(2000):
        with connect(spawner) as sock:
            descriptor_passing.send_request(sock, {"argv": ["true"] if number % 3 else ["no-such-program"]})
            if number % 2:  # others hang up at once, at whatever moment that is
                descriptor_passing.receive(sock)
    until(lambda: len(os.listdir(fds)) == at_rest)
    children = Path(f"/proc/{spawner.pid}/task/{spawner.pid}/children")
    until(lambda: children.read_text() == "")


def test_a_new_spawner_takes_over_the_socket_of_a_dead_one(spawner: "SpawnerDaemon") -> None:
    spawner.stop(signal.SIGKILL)
    assert os.path.exists(spawner.socket)
    spawner.start()
    assert report(spawner)["uid"][0] == 1000


HOSTILE = """
import os, sys, time
sys.path.insert(0, {root!r})
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.spawn import zygote
import socket
channel = socket.socket(fileno=3)
packet, fds, _ = descriptor_passing.receive_fds(channel, 16384, 8)
if zygote.fork_beside() == 0:
    os.write(fds[1], b"{{}}")
    for said in {said!r}:
        os.write(fds[1], said)
    open({done!r}, "w").close()
time.sleep(600)
"""


def hostile(spawner: "SpawnerDaemon", *said: bytes) -> tuple[socket.socket, socket.socket]:
    """A zygote of the agent's that forks, says something and ends nothing, and who has asked it to; both stay connected.

    The workspace has a file `said` once everything is said; never, if the spawner ends the process before that.
    """
    zygote, asking = connect(spawner), connect(spawner)
    done = spawner.workspace / "said"
    code = HOSTILE.format(root=ROOT, said=said, done=str(done))
    ask(zygote, argv=[sys.executable, "-c", code], zygote="bad")
    descriptor_passing.send_request(asking, {"argv": ["true"], "forked_from": "bad"})
    return zygote, asking


@pytest.mark.parametrize("said", [[], [b'{"er'], [b"{", b"}"], [b"x" * 1000]])
def test_a_process_that_says_half_of_why_it_did_not_start_holds_up_nobody(spawner: "SpawnerDaemon", said: list[bytes]) -> None:
    zygote, asking = hostile(spawner, *said)
    with zygote, asking:
        until((spawner.workspace / "said").exists)
        for _ in range(3):
            with connect(spawner) as sock:
                sock.settimeout(PATIENCE_SECONDS)
                assert "pid" in ask(sock, argv=["true"])
                assert descriptor_passing.receive(sock)[0] == {"exit": 0}
        asking.settimeout(0.2)
        with pytest.raises(TimeoutError):
            descriptor_passing.receive(asking)


@pytest.mark.parametrize("said", [b"x" * 20_000, b"[" * 10_000])
def test_what_a_process_says_and_makes_no_sense_is_an_error_of_its_own(spawner: "SpawnerDaemon", said: bytes) -> None:
    zygote, asking = hostile(spawner, *[said[place : place + 8000] for place in range(0, len(said), 8000)])
    with zygote, asking:
        if len(said) > descriptor_passing.MAX_PACKET:
            reply, _ = descriptor_passing.receive(asking)
            assert reply
            assert reply["subject"] == "process"
        else:
            until((spawner.workspace / "said").exists)
        with connect(spawner) as sock:
            sock.settimeout(PATIENCE_SECONDS)
            assert "pid" in ask(sock, argv=["true"])


def test_the_spawner_answers_a_ping(spawner: "SpawnerDaemon") -> None:
    with connect(spawner) as sock:
        descriptor_passing.send(sock, {"ping": True})
        assert descriptor_passing.receive(sock)[0] == {"pong": True}
