"""The forward proxy from outside: a real upstream that demands credentials, in a container beside the sandbox."""

from collections.abc import Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox, engine
from tests.patience import until

PASSWORD = "p4ss-that-nobody-sees"
SITE = "http://only.behind.example"
"""A site that the upstream alone knows."""
SERVE = """
import http.server
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(b"<title>Behind</title><h1>behind the upstream</h1>" + str(self.headers).encode())
http.server.ThreadingHTTPServer(("", 80), Answers).serve_forever()
"""
UPSTREAM = "Port 3128\nListen 0.0.0.0\nTimeout 60\nLogLevel Connect\nBasicAuth agent {password}\n"


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    """The name of a container in which tinyproxy demands credentials, with the site that only it can reach."""
    launcher = new_launcher("upstream")
    serve = f"python3 -c '{SERVE}' & printf '{UPSTREAM.format(password=PASSWORD)}' >/tmp/t; exec tinyproxy -d -c /tmp/t"
    try:
        name = launcher.beside(["sh", "-ec", serve], "--add-host=only.behind.example:127.0.0.1")
        until(lambda: engine("exec", name, "curl", "-s", "http://127.0.0.1:3128").code == 0)
        yield name
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def proxied(upstream: str) -> Iterator[Sandbox]:
    """A sandbox that is started with that upstream."""
    launcher: Launcher = new_launcher("proxied")
    try:
        yield launcher.start(env={"PROXY_SERVER": f"http://agent:{PASSWORD}@{upstream}:3128", "PROXY_EXCLUDE": ".near.example"})
    finally:
        launcher.remove()


def loads(sandbox: Sandbox, url: str) -> str:
    """What the browser shows of an address, or what it says is wrong."""
    reply = sandbox.request("POST", "/v1/browser/page/navigate", json={"url": url})
    if not reply.is_success:
        return str(reply.json()["data"])
    return str(sandbox.request("GET", "/v1/browser/page/text").json()["data"])


def curl(sandbox: Sandbox, *arguments: str) -> str:
    return sandbox.run("curl", "-s", "-m", "20", *arguments).stdout


def test_the_browser_goes_through_the_upstream_and_is_not_asked(proxied: Sandbox) -> None:
    shown = loads(proxied, SITE)

    assert "behind the upstream" in shown
    assert PASSWORD not in shown
    assert "Proxy-Authorization" not in shown


@pytest.mark.parametrize("tunnel", [(), ("-p",)])
def test_a_shell_goes_through_the_upstream(proxied: Sandbox, tunnel: tuple[str, ...]) -> None:
    reply = proxied.request("POST", "/v1/shell/exec", json={"command": f"curl -s {' '.join(tunnel)} {SITE}"})

    assert "behind the upstream" in reply.json()["data"]["output"]
    assert "behind the upstream" in curl(proxied, *tunnel, SITE)


def test_a_document_is_fetched_through_the_upstream(proxied: Sandbox) -> None:
    reply = proxied.request("POST", "/v1/util/convert_to_markdown", json={"uri": SITE})
    inside = proxied.request("POST", "/v1/util/convert_to_markdown", json={"uri": "http://169.254.169.254/"})

    assert "# behind the upstream" in reply.json()["data"]
    assert inside.status_code == 403


def test_the_password_is_nowhere_that_the_agent_or_a_caller_looks(proxied: Sandbox) -> None:
    looked = ["GET /v1/proxy/upstream", "GET /v1/proxy/health", "GET /v1/browser/proxy.pac", f"GET /v1/proxy/diagnose?url={SITE}"]
    said = [proxied.request(*each.split(" ", 1)).text for each in (*looked, "GET /v1/sandbox", "GET /v1/doctor", "GET /llms.txt")]
    said.append(proxied.request("PUT", "/v1/proxy/upstream", json={"server": f"agent:{PASSWORD}@"}).text)
    said.append(proxied.run("sh", "-c", "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'", user="root").stdout)
    said.append(proxied.run("sh", "-c", "cat /run/sandbox-proxy/* /etc/chromium/policies/managed/* 2>&1", user="root").stdout)
    said.append(proxied.exec("sh", "-c", "tr '\\0' '\\n' </proc/1/cmdline; ps -eo args").stdout)
    said.append(proxied.logs())

    assert all(said)
    assert [text for text in said if PASSWORD in text] == []


def test_a_mapped_host_is_answered_by_a_port_of_the_sandbox(proxied: Sandbox) -> None:
    serve = "cd $(mktemp -d) && mkdir v2 && echo 'from the port' >v2/page.txt && exec python3 -m http.server 3000 --bind 127.0.0.1"
    proxied.request("POST", "/v1/bash/exec", json={"command": serve, "async_mode": True})
    until(lambda: curl(proxied, "http://127.0.0.1:3000/v2/page.txt"))
    added = proxied.request("POST", "/v1/proxy/mappings", json={"source": "*.my-app.example/v1/*", "target": ":3000/v2/"})
    try:
        assert added.status_code == 200, added.text
        assert loads(proxied, "http://www.my-app.example/v1/page.txt").strip() == "from the port"
        assert curl(proxied, "-p", "http://www.my-app.example:80/v1/page.txt") == "from the port\n"
    finally:
        removed = proxied.request("DELETE", "/v1/proxy/mappings/*.my-app.example%2Fv1%2F*")
    assert removed.status_code == 200, removed.text


def test_what_is_excluded_does_not_reach_the_upstream(proxied: Sandbox, upstream: str) -> None:
    curl(proxied, "http://host.near.example/")
    curl(proxied, "http://host.far.example/")

    until(lambda: "host.far.example" in engine("logs", upstream).stdout)
    assert "near.example" not in engine("logs", upstream).stdout


@pytest.mark.slow
def test_the_upstream_is_changed_while_the_browser_runs(mended: Sandbox, upstream: str) -> None:
    until(lambda: "has no address" in loads(mended, f"{SITE}/1"))  # another test may have ended the browser
    browser = mended.exec("pgrep", "-o", "-f", "chromium.*user-data-dir").stdout
    shell = mended.request("POST", "/v1/shell/sessions/create", json={"id": "before"})

    put = mended.request("PUT", "/v1/proxy/upstream", json={"server": f"agent:{PASSWORD}@{upstream}:3128"})
    assert (shell.status_code, put.status_code) == (200, 200), put.text
    assert "behind the upstream" in loads(mended, f"{SITE}/2")
    assert "behind the upstream" in curl(mended, SITE)
    wrong = mended.request("PUT", "/v1/proxy/upstream", json={"server": f"agent:wrong@{upstream}:3128"})
    assert wrong.status_code == 200
    assert "refuses the credentials" in loads(mended, f"{SITE}/3")
    command = {"server": f"{upstream}:3128", "auth_cmd": f"echo agent:{PASSWORD}"}
    assert mended.request("PUT", "/v1/proxy/upstream", json=command).json()["data"]["username"] == "agent"
    assert "behind the upstream" in loads(mended, f"{SITE}/4")
    assert mended.request("GET", "/v1/proxy/health").json()["data"]["healthy"]
    assert mended.request("DELETE", "/v1/proxy/upstream").status_code == 200
    assert "has no address" in loads(mended, f"{SITE}/5")
    assert mended.exec("pgrep", "-o", "-f", "chromium.*user-data-dir").stdout == browser
    assert browser.strip()


def test_the_proxy_is_back_after_it_was_killed(proxied: Sandbox) -> None:
    killed = proxied.exec("sh", "-c", "kill -9 $(pgrep -x haproxy) $(pgrep -x tinyproxy)")

    assert killed.code == 0, killed.stderr
    until(lambda: "behind the upstream" in curl(proxied, SITE), told=proxied.logs)
    until(lambda: proxied.request("GET", "/v1/proxy/health").json()["data"]["healthy"], told=proxied.logs)


def test_its_ports_are_no_previews(proxied: Sandbox) -> None:
    for port in (8118, 18118):
        assert proxied.request("GET", f"/proxy/{port}/").status_code == 403
