"""One address for all sandboxes: real sandboxes, a real Caddy, a real browser."""

import datetime as dt
import ipaddress
import secrets
import signal
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.image import sockets
from tests.image.container import until
from tests.image.test_fleet import LIGHT, RUN, Host
from tests.image.test_view import colour

PATIENCE_MS = 120_000
NOBODY = "abcdefghij234567"
DARK = {name: value for name, value in LIGHT.items() if name != "DISABLE_BROWSER"}
ECHO = """
    import asyncio, base64, hashlib
    async def serve(reader, writer):
        head = (await reader.readuntil(b"\\r\\n\\r\\n")).decode()
        key = next(line[19:] for line in head.split("\\r\\n") if line.lower().startswith("sec-websocket-key: "))
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        head = ("HTTP/1.1 101 S", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {accept}", "", "")
        writer.write("\\r\\n".join(head).encode())
        while True:
            first, length = await reader.readexactly(2)
            mask, data = await reader.readexactly(4), await reader.readexactly(length & 127)
            text = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
            writer.write(bytes([129, len(text)]) + text)
    async def main():
        async with await asyncio.start_server(serve, "127.0.0.1", 9000) as server:
            await server.serve_forever()
    asyncio.run(main())
"""


@dataclass(frozen=True)
class Gateway:
    """A service with a gateway."""

    host: Host
    base: str

    def id(self, name: str) -> str:
        """A sandbox's id."""
        return next(one["id"] for one in self.host.listed() if one["name"] == name)

    def state(self, name: str) -> str:
        """What a sandbox is."""
        return next(one["state"] for one in self.host.listed() if one["name"] == name)

    def token(self, name: str, *scopes: str) -> dict[str, str]:
        """The header that opens a sandbox."""
        words = [word for scope in scopes or ("view",) for word in ("--scope", scope)]
        return {"Authorization": f"Bearer {self.host.run('token', name, *words).stdout.strip()}"}

    def get(self, uri: str, name: str = "", **headers: str) -> httpx.Response:
        """What a program gets; with a name by that host's, else by path."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        port = self.base.rpartition(":")[2]
        named = {"Host": f"{name}.localhost:{port}"} if name else {}
        return httpx.get(f"{self.base}{uri}", headers=given | named, timeout=60, trust_env=False)


@contextmanager
def served(host: Host, **variables: str) -> Iterator[Gateway]:
    """Serve the fleet with its gateway."""
    made = Host(host.state, host.fleet, variables | {"TANDEM_GATEWAY": "127.0.0.1:0", "TANDEM_GATEWAY_WAIT": "240"})
    with made.start("serve", "--port", "0") as service:
        try:
            assert service.stderr is not None
            lines = [service.stderr.readline() for _ in range(2)]
            assert "its sandboxes are at " in lines[-1], lines
            yield Gateway(host, lines[-1].split(" at ")[1].split("/s/")[0])
        finally:
            service.send_signal(signal.SIGTERM)
            service.communicate(timeout=60)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A fleet that leaves nothing."""
    made = Host(tmp_path_factory.mktemp("state"), f"test-{secrets.token_hex(4)}")
    yield made
    made.remove()


@pytest.fixture(scope="module")
def gateway(host: Host) -> Iterator[Gateway]:
    """Its gateway, with a sandbox that has a desktop and one that has nothing."""
    with served(host) as made:
        full = [word for name, value in DARK.items() for word in ("--env", f"{name}={value}")]
        done = host.run("up", "work", *full, "--label", f"tandem.test={RUN}")
        assert done.code == 0, done.stderr
        host.up("other")
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A person's browser, which finds every name below localhost here."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield launched
        launched.close()


@contextmanager
def opened(browser: Browser, link: str, **context: Any) -> Iterator[Page]:
    """A page of somebody who opened a link."""
    with browser.new_context(viewport={"width": 1280, "height": 900}, **context) as made:
        made.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        page = made.new_page()
        page.goto(link)
        yield page


@pytest.fixture(scope="module")
def person(gateway: Gateway, browser: Browser) -> Iterator[Page]:
    """Somebody who opened the link of `tandem open`."""
    link = gateway.host.run("open", "--print", "work").stdout.strip()
    assert link.startswith(f"{gateway.base}/s/{gateway.id('work')}/?ticket=")
    with opened(browser, link) as page:
        yield page


def paint(gateway: Gateway, shade: str) -> None:
    """Have the sandbox's browser show a colour."""
    body = {"url": f"data:text/html,<body bgcolor={shade}>"}
    address = f"{gateway.base}/s/{gateway.id('work')}/v1/browser/page/navigate"
    answer = httpx.post(address, json=body, headers=gateway.token("work", "browser"), timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text


def sees(page: Page, wanted: tuple[int, int, int]) -> None:
    """See the desktop live, and this colour on it."""
    page.locator("main[data-picture=connected]").wait_for()
    until(lambda: all(abs(one - other) < 16 for one, other in zip(colour(page.locator("tandem-view canvas")), wanted, strict=True)))


def test_a_person_sees_the_desktop_live_by_name_and_by_path(gateway: Gateway, person: Page) -> None:
    name = f"{gateway.id('work')}.localhost"
    assert name in person.url
    assert "ticket" not in person.url
    paint(gateway, "226688")
    person.goto(f"http://{name}:{gateway.base.rpartition(':')[2]}/view")
    sees(person, (0x22, 0x66, 0x88))
    person.goto(f"{gateway.base}/s/{gateway.id('work')}/view")
    assert name in person.url
    sees(person, (0x22, 0x66, 0x88))
    paint(gateway, "886622")
    sees(person, (0x88, 0x66, 0x22))


@pytest.mark.parametrize("order", ["pause", "stop"])
def test_a_person_who_opens_a_page_wakes_it_and_sees_how(gateway: Gateway, person: Page, order: str) -> None:
    person.goto("about:blank")
    assert gateway.host.run(order, "work").code == 0
    person.goto(f"{gateway.base}/s/{gateway.id('work')}/view", wait_until="commit")
    if order == "stop":
        expect(person.get_by_role("heading")).to_have_text("work is waking up")
    person.locator("main[data-picture=connected]").wait_for()
    assert gateway.state("work") == "ready"


def test_a_page_that_stays_open_keeps_nobody_awake(gateway: Gateway, person: Page) -> None:
    person.goto(f"{gateway.base}/s/{gateway.id('work')}/view")
    person.locator("main[data-picture=connected]").wait_for()
    assert gateway.host.run("stop", "work").code == 0
    person.locator("main:not([data-picture=connected])").wait_for()
    answer = person.evaluate("fetch('/v1/control').then((answer) => answer.status)")
    assert answer == 503
    assert gateway.state("work") == "stopped"
    assert gateway.host.run("start", "work").code == 0


def test_a_program_wakes_it_by_its_call_and_gets_what_the_command_writes_as_it_writes(gateway: Gateway) -> None:
    for order in ("pause", "stop"):
        assert gateway.host.run(order, "other").code == 0
        done = gateway.host.run("exec", "other", "--", "bash", "-c", "echo out; exit 7")
        assert (done.code, done.stdout) == (7, "out\n")
    assert gateway.state("other") == "ready"


def test_sockets_and_previews_pass_by_both_addresses(gateway: Gateway) -> None:
    script = textwrap.dedent(ECHO)
    assert gateway.host.run("exec", "other", "--", "bash", "-c", f"cat >/tmp/echo.py <<'E'\n{script}\nE").code == 0
    assert gateway.host.run("exec", "other", "--", "bash", "-c", "nohup python3 /tmp/echo.py >/dev/null 2>&1 &").code == 0
    one, port = gateway.id("other"), gateway.base.rpartition(":")[2]
    token = gateway.token("other", "code")
    ports = f"/s/{one}/v1/ports?wait=9000&timeout=60"
    assert gateway.get(ports, **gateway.token("other", "code", "view")).status_code == 200
    for address, host in ((f"/s/{one}/proxy/9000/", "127.0.0.1"), ("/", f"9000-{one}.localhost")):
        there = {"address": ("127.0.0.1", int(port))}
        with sockets.connect(f"ws://{host}:{port}{address}", additional_headers=token, proxy=None, **there) as echo:
            echo.send("hello")
            assert echo.recv(timeout=60) == "hello"


def test_a_stranger_learns_nothing_and_wakes_nothing(gateway: Gateway) -> None:
    assert gateway.host.run("stop", "other").code == 0
    ids = [gateway.id("work"), gateway.id("other"), NOBODY]
    asked: list[tuple[str, dict[str, str]]] = [
        ("/", {}),
        ("/view", {"accept": "text/html"}),
        ("/?ticket=guess", {}),
        ("/?ticket=guess", {"accept": "text/html"}),
        ("/v1/sandbox", {"authorization": "Bearer guess"}),
        ("/v1/sandbox", gateway.token("work")),
        ("/proxy/3000/", {"x_aio_api_key": "guess"}),
        ("/view", {"cookie": "sandbox_session=guess"}),
        ("/healthz", {"authorization": "Bearer guess"}),
        ("/join", {"accept": "text/html"}),
    ]
    for uri, headers in asked:
        given = {name.lower().replace("-", "_"): value for name, value in headers.items()}
        told = [gateway.get(uri, one, **given) for one in (ids[1:] if "eyJ" in str(headers) else ids)]
        seen = [(one.status_code, one.text, {name: value for name, value in one.headers.items() if name != "date"}) for one in told]
        assert all(one == seen[0] for one in seen), (uri, headers)
        assert seen[0][0] == 401, (uri, headers)
    assert gateway.state("other") == "stopped"


def test_a_guest_comes_in_by_the_link_of_an_invitation(gateway: Gateway, browser: Browser) -> None:
    token = gateway.token("work", "control", "view")
    address = f"{gateway.base}/s/{gateway.id('work')}/v1/invitations"
    made = httpx.post(address, json={"access": "watch"}, headers=token, timeout=240, trust_env=False).json()
    place = f"http://{gateway.id('work')}.localhost:{gateway.base.rpartition(':')[2]}"
    with opened(browser, f"{place}/join#ticket={made['data']['ticket']}") as page:
        page.get_by_label("You are invited. What is your name?").fill("Mia")
        page.get_by_role("button", name="Join").click()
        page.locator("main[data-picture=connected]").wait_for()
        assert {one["name"].partition("_")[0] for one in page.context.cookies()} == {"sandbox", "tandem"}


def test_a_token_of_one_opens_no_other(gateway: Gateway) -> None:
    assert gateway.host.run("start", "other").code == 0
    work, other = gateway.id("work"), gateway.id("other")
    mine = gateway.token("work")
    assert gateway.get(f"/s/{work}/v1/sandbox", **{name.lower(): value for name, value in mine.items()}).status_code == 200
    for uri, name in ((f"/s/{other}/v1/sandbox", ""), ("/v1/sandbox", other), ("/", f"3000-{other}")):
        assert gateway.get(uri, name, **{name.lower(): value for name, value in mine.items()}).status_code == 401


def certificate(folder: Path) -> dict[str, str]:
    """Files of a certificate for names below localhost, as settings."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.DNSName("localhost"), x509.DNSName("*.localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
    signed = made.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    folder.joinpath("chain.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    folder.joinpath("key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return {"TANDEM_GATEWAY_CERTIFICATE": str(folder / "chain.pem"), "TANDEM_GATEWAY_CERTIFICATE_KEY": str(folder / "key.pem")}


@pytest.fixture(scope="module")
def encrypted(host: Host, gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Another fleet, whose gateway speaks TLS, with a sandbox."""
    other = Host(tmp_path_factory.mktemp("encrypted"), f"{host.fleet}-tls")
    try:
        with served(other, **certificate(other.state)) as made:
            full = [word for name, value in DARK.items() for word in ("--env", f"{name}={value}")]
            assert other.run("up", "safe", *full, "--label", f"tandem.test={RUN}").code == 0
            yield made
    finally:
        other.remove()


def test_behind_tls_the_desktop_is_live_and_cookies_are_of_the_exact_host(encrypted: Gateway, browser: Browser) -> None:
    trusting = Host(encrypted.host.state, encrypted.host.fleet, {"SSL_CERT_FILE": str(encrypted.host.state / "chain.pem")})
    done = trusting.run("open", "--print", "safe")
    assert done.stdout.startswith(f"{encrypted.base}/s/"), done.stderr
    with opened(browser, done.stdout.strip().replace("/?", "/view?"), ignore_https_errors=True) as page:
        page.locator("main[data-picture=connected]").wait_for()
        assert page.url.startswith("https://")
        assert {one["name"].partition("_session")[0] for one in page.context.cookies()} == {"__Host-sandbox", "__Host-tandem_gateway"}


def test_no_caddy_is_left_when_a_service_is_killed(host: Host, tmp_path: Path) -> None:
    other = Host(tmp_path, f"{host.fleet}-k", {"TANDEM_GATEWAY": "127.0.0.1:0"})
    with other.start("serve", "--port", "0") as service:
        assert service.stderr is not None
        address = [service.stderr.readline() for _ in range(2)][1].split(" at ")[1].split("/s/")[0]
        assert httpx.get(address, trust_env=False).status_code == 404
        service.kill()
        service.communicate(timeout=60)
    until(lambda: not is_served(address))


def is_served(address: str) -> bool:
    """Whether somebody answers there."""
    try:
        httpx.get(address, trust_env=False, timeout=5)
    except httpx.TransportError:
        return False
    return True
