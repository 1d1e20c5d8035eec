"""The fence from inside: what each part of a policy holds back, and the ways round it, in a box and without one."""

import errno
import socket
import threading
from collections.abc import Iterator

import pytest

from sandbox_server.drivers.fence.fence import Fence, FenceError
from sandbox_server.drivers.fence.policy import IsolationPolicy, NetworkPolicy
from sandbox_server.drivers.ipc.descriptor_passing import Message
from tests.fences import Fences
from tests.patience import until

NOTHING_WRITTEN: Message = {"write": {"allow": []}}
NO_NETWORK: Message = {"network": {}}


def test_without_a_policy_nothing_is_held_back(fences: Fences) -> None:
    assert fences.out("cat ~/secret/key; echo x > ~/work/x && cat ~/work/x").split() == ["hidden", "x"]


def test_only_what_is_allowed_can_be_written(fences: Fences) -> None:
    policy = {"write": {"allow": ["~/work", "/tmp"], "deny": []}}
    assert fences.out("echo a > ~/work/a && mkdir ~/work/d && mv ~/work/a ~/work/d/b && cat ~/work/d/b && rm -r ~/work/d", policy) == "a"
    for script in ("echo x > ~/secret/key", "rm ~/secret/key", "mkdir ~/made", "truncate -s 0 ~/secret/key", "mv ~/secret/key ~/work/"):
        ended = fences.run(script, policy)
        assert ended.code == 1, (script, ended)
    assert fences.out("cat ~/secret/key") == "hidden"


def test_an_empty_list_lets_nothing_be_written_but_devices(fences: Fences) -> None:
    assert fences.out("echo x > /dev/null && echo said", NOTHING_WRITTEN) == "said"
    assert fences.run("echo x > ~/work/x", NOTHING_WRITTEN).code == 1
    assert fences.run("echo x > /tmp/x", NOTHING_WRITTEN).code == 1


def test_a_relative_path_is_below_the_working_directory(fences: Fences) -> None:
    home = fences.out("echo ~")
    assert fences.out("echo x > x && cat x", {"write": {"allow": ["."]}}, cwd=f"{home}/work") == "x"
    assert fences.run("echo x > ../x", {"write": {"allow": ["."]}}, cwd=f"{home}/work").code == 1


def test_what_is_denied_below_something_allowed_cannot_be_written_nor_replaced(fences: Fences) -> None:
    fences.out("mkdir -p ~/work/a/b && echo kept > ~/work/a/b/config")
    policy = {"write": {"allow": ["~/work"], "deny": ["~/work/a/b/config"]}}
    scripts = ("echo x > ~/work/a/b/config", "rm -f ~/work/a/b/config", "mv ~/work/a/b ~/work/a/c", "mv ~/work/a ~/work/c")
    for script in (*scripts, "ln ~/work/a/b/config ~/work/l && echo x > ~/work/l"):
        fences.refuses(script, policy)
    assert fences.out("cat ~/work/a/b/config") == "kept"
    assert fences.out("echo x > ~/work/a/b/other && cat ~/work/a/b/other", policy) == "x"


def test_what_is_denied_to_be_written_must_exist(fences: Fences) -> None:
    refusal = fences.run("true", {"write": {"allow": ["~/work"], "deny": ["~/work/.env"]}}).refusal
    assert refusal is not None
    assert (refusal["subject"], refusal["field"], refusal["error"]) == ("isolation", "write.deny", 2)
    refusal = fences.run("true", {"write": {"allow": ["~/none"]}}).refusal
    assert refusal is not None
    assert (refusal["field"], refusal["error"]) == ("write.allow", 2)


def test_what_is_denied_can_neither_be_read_nor_listed(fences: Fences) -> None:
    policy = {"read": {"deny": ["~/secret", "~/none"]}}
    for script in ("cat ~/secret/key", "ls ~/secret", "cd ~/secret", "cat ~/work/../secret/key", "grep -r hidden ~/secret"):
        fences.refuses(script, policy)
    assert fences.out("ls ~ >/dev/null && echo listed", policy) == "listed"
    one = {"read": {"deny": ["~/secret/key"]}}
    assert fences.run("cat ~/secret/key", one).code == 1
    assert fences.out("cat ~/secret/public", one) == "shown"


def test_a_link_to_what_is_denied_leads_nowhere(fences: Fences) -> None:
    fences.out("ln -s ~/secret ~/work/link && ln ~/secret/public ~/work/hard")
    assert fences.run("cat ~/work/link/key", {"read": {"deny": ["~/secret"]}}).code == 1
    assert fences.run("cat ~/secret/key", {"read": {"deny": ["~/work/link"]}}).code == 1


def test_what_is_allowed_below_something_denied_can_be_read(fences: Fences) -> None:
    policy = {"read": {"deny": ["~/secret"], "allow": ["~/secret/public"]}}
    assert fences.out("cat ~/secret/public", policy) == "shown"
    assert fences.run("cat ~/secret/key", policy).code == 1
    assert fences.run("ls ~/secret", policy).code == 2


def test_with_the_root_denied_only_what_is_allowed_can_be_read(fences: Fences) -> None:
    policy = {"read": {"deny": ["/"], "allow": ["/usr", "/bin", "/lib", "/lib64", "/etc", "~/work"]}}
    assert fences.out("cat /etc/hostname >/dev/null && ls ~/work && echo read", policy) == "read"
    assert fences.run("cat ~/secret/key", policy).code == 1
    assert fences.run("ls /", policy).code == 2
    assert fences.run("cat /proc/1/cmdline", policy).code == 1


@pytest.fixture
def service() -> Iterator[int]:
    """The port of something that listens on the container's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_without_hosts_there_is_no_network_but_loopback_of_its_own(fences: Fences, service: int) -> None:
    reach = f"exec 3<>/dev/tcp/127.0.0.1/{service}"
    assert fences.run(reach).code == 0
    assert fences.run(reach, NO_NETWORK).code == 1
    assert fences.out("tail -n +3 /proc/self/net/dev | cut -d: -f1", NO_NETWORK) == "lo"
    fences.refuses("getent ahosts example.com", NO_NETWORK)
    serve = 'python3 -c \'import socket; s = socket.create_server(("127.0.0.1", 8000)); socket.create_connection(("127.0.0.1", 8000))\''
    assert fences.run(serve, NO_NETWORK).code == 0


def test_other_kinds_of_sockets_cannot_be_made(fences: Fences) -> None:
    for family in ("AF_VSOCK", "AF_UNIX", "AF_ALG"):
        made = fences.run(f"python3 -c 'import socket; socket.socket(socket.{family})'", NO_NETWORK)
        assert made.code == 1, family
        assert "Operation not permitted" in made.output or "not supported" in made.output


def test_a_host_that_is_allowed_is_reached_through_the_proxy_alone(fences: Fences, service: int) -> None:
    policy = {"network": {"allowed_domains": ["127.0.0.1"], "denied_domains": ["*.evil.example"]}}
    fetch = f"curl -sS -m 60 --noproxy '' http://127.0.0.1:{service}/"
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        port = upstream.getsockname()[1]
        thread = threading.Thread(target=_answer_once, args=(upstream,))
        thread.start()
        assert fences.out(fetch.replace(str(service), str(port)), policy) == "from upstream"
        thread.join()
    assert fences.run(f"exec 3<>/dev/tcp/127.0.0.1/{service}", policy).code == 1
    refused = fences.run(f"curl -sS -m 60 --noproxy '' -o /dev/null -w '%{{http_code}}' http://x.evil.example:{service}/", policy)
    assert refused.output == "403"
    tunnel = fences.run(f"curl -sS -m 60 --noproxy '' -p http://other.example:{service}/", policy)
    assert tunnel.code == 56
    assert "403" in tunnel.output


def _answer_once(listening: socket.socket) -> None:
    client, _ = listening.accept()
    with client:
        client.recv(4096)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nConnection: close\r\n\r\nfrom upstream")


def test_the_proxy_ends_with_the_program(fences: Fences) -> None:
    count = "ls -d /proc/[0-9]* | wc -l"
    before = fences.out(count)
    fences.out("true", {"network": {"allowed_domains": ["example.com"]}})
    until(lambda: fences.out(count) == before)


def test_only_the_named_variables_are_passed_on(fences: Fences) -> None:
    given = {"env": {"KEPT": "1"}}
    names = fences.out("env | cut -d= -f1 | sort", {"env": {"allow": []}}, **given).split()
    assert {"KEPT", "PATH", "HOME", "USER"} <= set(names)
    assert "WORKSPACE" in names


def test_limits_hold(fences: Fences) -> None:
    assert fences.out("ulimit -n; ulimit -f", {"limits": {"open_files": 40, "file_bytes": 4096}}).split() == ["40", "4"]
    assert fences.run("while :; do :; done", {"limits": {"cpu_seconds": 1}}).code is None
    hog = "python3 -c 'bytearray(200 << 20)'"
    assert fences.run(hog, {"limits": {"memory_bytes": 64 << 20}}).code == 1
    assert fences.run(hog).code == 0


def test_processes_are_counted_for_the_execution_alone(fences: Fences) -> None:
    fork = "for i in $(seq 12); do sleep 5 & done; jobs -p | wc -l"
    assert "Resource temporarily unavailable" in fences.run(fork, {"limits": {"processes": 6}}).output
    assert fences.out("echo $(echo here)", {"limits": {"processes": 6}}) == "here"


ALLOWED_OUTSIDE = {
    "read another process's environment": "cat /proc/{pid}/environ",
    "look through another process's root": "cat /proc/{pid}/root$HOME/secret/key",
    "signal a process outside": "kill -0 {pid}",
    "use a Unix socket": "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'",
    "make a directory beside": "mkdir -p ~/secret/d",
    "read the sandbox's token": "cat {private}/token",
    "list where it is": "ls {private}",
}
"""What an ordinary process of the agent may do."""
NEVER_ALLOWED = {
    "become root": "sudo -n true",
    "become root by another program": "su -c true </dev/null",
    "trace a process outside": "python3 -c 'import ctypes; exit(ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) != 0)'",
    "mount": "mount -t tmpfs t /mnt",
    "take a mount away": "umount ~/secret",
    "take a mount away as root of a user namespace": "unshare -Urm umount ~/secret",
    "mount as root of a user namespace": "unshare -Urm mount -t tmpfs t /mnt",
    "enter another process's namespaces": "nsenter -t {pid} -m -U --preserve-credentials true",
    "type into a terminal": "python3 -c 'import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b\"x\")'",
    "make an io_uring": "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(425, 1, bytes(120)) < 0)'",
    "use the user's keyring": "python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(250, 0, -4, 0) < 0)'",
    "write the sandbox's token": "echo x > {private}/token",
}


@pytest.mark.parametrize("script", (ALLOWED_OUTSIDE | NEVER_ALLOWED).values(), ids=ALLOWED_OUTSIDE | NEVER_ALLOWED)
def test_there_is_no_way_round(fences: Fences, script: str) -> None:
    policy = {"read": {"deny": ["~/secret"]}, "write": {"allow": ["~/work"]}}
    with fences.background("sleep 60 & echo $!; exec >&- 2>&-; wait") as pid:
        command = script.replace("{pid}", pid).replace("{private}", fences.private)
        if script in ALLOWED_OUTSIDE.values():
            assert fences.run(command).code == 0
        fences.refuses(command, policy)


def test_even_an_empty_policy_keeps_from_rights_and_tokens(fences: Fences) -> None:
    assert fences.run("sudo -n true", {}).code == 1
    assert fences.run(f"cat {fences.private}/token", {}).code == 1
    assert fences.run(f"cat {fences.private}/token", {"read": {"deny": ["/run"], "allow": [f"{fences.private}/token"]}}).code == 1
    assert fences.out("grep -c NoNewPrivs:.1 /proc/self/status", {}) == "1"


def test_no_descriptor_is_inherited_but_the_streams(fences: Fences) -> None:
    listed = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1])"
    policy = {"network": {"allowed_domains": ["example.com"]}, "write": {"allow": ["~/work"]}}
    assert fences.out(f'exec python3 -c "{listed}"', policy) == "[0, 1, 2]"


def test_unix_sockets_can_be_asked_for(fences: Fences) -> None:
    assert fences.run("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", {"unix_sockets": True}).code == 0
    assert fences.run("python3 -c 'import socket; socket.socketpair()'", {}).code == 0


def test_only_the_agent_is_isolated(fences: Fences) -> None:
    refusal = fences.run("true", {}, user="root").refusal
    assert refusal is not None
    assert "processes of the agent" in refusal["message"]


def test_where_the_proxy_cannot_watch_its_program_the_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("os.pidfd_open", refuse)
    policy = IsolationPolicy(network=NetworkPolicy(allowed_domains=("example.com",)))
    with pytest.raises(FenceError) as refused:
        Fence(policy, cwd="/", home="/", private="/nonexistent").separate(lambda: None)
    assert (refused.value.errno, refused.value.field) == (errno.ENOSYS, "network")
