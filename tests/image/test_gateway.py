"""Who gets in, in a running container: keys, links, tokens, tickets, previews, and what the agent itself can reach."""

import base64
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

HTML = {"Accept": "text/html,*/*"}
PRIVATE = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def person() -> Iterator[httpx.Client]:
    """A browser: keeps cookies, follows redirects, has no key."""
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False, follow_redirects=True, headers=HTML) as browser:
        yield browser


def ask(sandbox: "Sandbox", path: str, method: str = "GET", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return sandbox.http.request(method, f"{sandbox.base_url}{path}", headers=named)


def test_without_a_key_the_sandbox_makes_one_and_prints_a_link_that_works_once(
    start_sandbox: Callable[..., "Sandbox"], person: httpx.Client
) -> None:
    sandbox = start_sandbox(env={"SANDBOX_API_KEY": ""})
    assert ask(sandbox, "/v1/sandbox").status_code == 401
    until(lambda: "/?ticket=" in sandbox.logs())
    (link,) = re.findall(r"http://localhost:8080(/\?ticket=\S+)", sandbox.logs())
    opened = person.get(f"{sandbox.base_url}{link}")
    assert opened.status_code == 200
    assert "ticket" not in str(opened.url)
    assert person.get(f"{sandbox.base_url}/static/home/home.js").status_code == 200
    assert ask(sandbox, link).status_code == 401, "a second time"
    key = sandbox.exec("cat", "/run/sandbox/api-key").stdout.strip()
    assert ask(sandbox, "/v1/sandbox", X_AIO_API_Key=key).status_code == 200
    assert key not in sandbox.logs()


def test_the_key_opens_in_its_three_forms(sandbox: "Sandbox") -> None:
    for path, headers in (
        ("/v1/sandbox", {"X_AIO_API_Key": sandbox.api_key}),
        ("/v1/sandbox", {"Authorization": f"Bearer {sandbox.api_key}"}),
        (f"/v1/sandbox?api_key={sandbox.api_key}", {}),
    ):
        assert ask(sandbox, path, **headers).status_code == 200


def test_the_agent_finds_its_own_token_and_no_other_secret(sandbox: "Sandbox") -> None:
    token = sandbox.exec("cat", "/run/sandbox-agent/token", user="gem").stdout.strip()
    answer = ask(sandbox, "/auth", Authorization=f"Bearer {token}")
    assert answer.json() == {"caller": "agent", "scopes": "browser code files shell view"}
    for path in ("api-key", "agent-token", "session-key", "environ.json", "tickets", "api.sock", "gateway.sock"):
        assert sandbox.exec("cat", f"/run/sandbox/{path}", user="gem").code != 0
    reached = sandbox.exec("curl", "-sS", "--unix-socket", "/run/sandbox/api.sock", "-H", "X-Sandbox-Caller: key", "http://x/", user="gem")
    assert reached.code != 0


def test_a_person_signs_in_with_a_fresh_link_and_out_again(sandbox: "Sandbox") -> None:
    link = sandbox.exec("sandbox", "sign-in", "--url", sandbox.base_url).stdout.strip()
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False, follow_redirects=True, headers=HTML) as browser:
        assert browser.get(link).status_code == 200
        assert browser.request("DELETE", f"{sandbox.base_url}/v1/session").status_code == 403, "no origin: it could be another site's"
        assert browser.request("DELETE", f"{sandbox.base_url}/v1/session", headers={"Origin": sandbox.base_url}).status_code == 204
        assert browser.get(f"{sandbox.base_url}/").status_code == 401


def test_a_ticket_for_one_path_opens_that_path_alone(sandbox: "Sandbox") -> None:
    ticket = sandbox.request("POST", "/tickets", json={"path_prefix": "/static/home", "scopes": ["view"]}).json()["ticket"]
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as browser:
        assert browser.get(f"{sandbox.base_url}/v1/sandbox?ticket={ticket}").status_code == 401
        assert browser.get(f"{sandbox.base_url}/static/home/home.js?ticket={ticket}").status_code == 200
        assert browser.get(f"{sandbox.base_url}/static/home/status_list.js").status_code == 200
        assert browser.get(f"{sandbox.base_url}/v1/sandbox").status_code == 401


@pytest.fixture(scope="module")
def tokens_only() -> dict[str, str]:
    """Settings with a token key and without an API key."""
    pem = PRIVATE.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    encoded = base64.encodebytes(pem).decode()
    return {"SANDBOX_API_KEY": "", "JWT_PUBLIC_KEY": encoded, "JWT_AUDIENCE": "box", "JWT_ISSUER": "https://issuer"}


def test_signed_tokens_open_and_their_forgeries_do_not(start_sandbox: Callable[..., "Sandbox"], tokens_only: dict[str, str]) -> None:
    sandbox = start_sandbox(env=tokens_only)
    now = int(time.time())
    good = {"exp": now + 600, "aud": "box", "iss": "https://issuer", "sub": "mia"}

    def answer(token: str) -> int:
        return ask(sandbox, "/v1/sandbox", Authorization=f"Bearer {token}").status_code

    assert answer(jwt.encode(good, PRIVATE, "ES256")) == 200
    assert answer(jwt.encode(good | {"scope": "files"}, PRIVATE, "ES256")) == 403
    for bad in ({"exp": now - 600}, {"nbf": now + 600}, {"aud": "other"}, {"iss": "https://evil"}):
        assert answer(jwt.encode(good | bad, PRIVATE, "ES256")) == 401, bad
    assert answer(jwt.encode(good, ec.generate_private_key(ec.SECP256R1()), "ES256")) == 401
    assert answer(jwt.encode(good, "", "none")) == 401
    assert answer(_signed_with_the_public_key(good)) == 401
    _check_a_token_for_one_tool(sandbox, jwt.encode(good | {"tools": ["sandbox_get_context"]}, PRIVATE, "ES256"))
    assert sandbox.exec("test", "-e", "/run/sandbox/api-key").code != 0, "no key is made beside a configured one"


def _signed_with_the_public_key(claims: dict[str, object]) -> str:
    pem = PRIVATE.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    head, body, _ = jwt.encode(claims, "x" * 32, "HS256").split(".")
    signature = base64.urlsafe_b64encode(algorithm.sign(f"{head}.{body}".encode(), pem)).rstrip(b"=").decode()
    return f"{head}.{body}.{signature}"


def _check_a_token_for_one_tool(sandbox: "Sandbox", token: str) -> None:
    """It opens that tool, by its path and by MCP, and nothing else."""
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    bearer = {"Authorization": f"Bearer {token}"}
    listed = sandbox.http.post(f"{sandbox.base_url}/mcp", json=listing, headers=bearer).json()["result"]["tools"]

    assert [tool["name"] for tool in listed] == ["sandbox_get_context"]
    assert ask(sandbox, "/v1/sandbox", **bearer).status_code == 200
    for path in ("/v1/shell/sessions", "/", "/terminal", "/proxy/3000/", "/json/version", "/v1/mcp/sandbox/tools/sandbox_execute_bash"):
        answer = ask(sandbox, path, **bearer)
        assert answer.status_code in (403, 404, 405), path
        assert not answer.is_success
    called = sandbox.http.post(f"{sandbox.base_url}/v1/mcp/sandbox/tools/execute_bash", json={"cmd": "id"}, headers=bearer)
    assert called.status_code == 404


def test_authentication_off_is_said_aloud(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"AUTH": "off", "SANDBOX_API_KEY": ""})
    assert ask(sandbox, "/v1/sandbox").status_code == 200
    assert ask(sandbox, "/v1/sandbox", "DELETE", Origin="http://evil.example").status_code == 403
    assert "AUTH=off" in sandbox.logs()
    assert "authentication" in ask(sandbox, "/v1/doctor").json()["data"]["lost"]


def serve(sandbox: "Sandbox", port: int, user: str, address: str = "127.0.0.1") -> None:
    """Start a web server inside, and wait until it listens."""
    command = f"unset SANDBOX_API_KEY; cd /usr/share/doc; python3 -m http.server {port} --bind {address} >/dev/null 2>&1 &"
    assert sandbox.exec("sh", "-c", command, user=user).code == 0
    until(lambda: sandbox.exec("sh", "-c", f"curl -s -o /dev/null http://{address}:{port}/").code == 0)


def test_what_the_agent_serves_can_be_previewed_in_four_ways(sandbox: "Sandbox") -> None:
    serve(sandbox, 3100, "gem")
    host = f"3100-{sandbox.name}:8080"
    assert "Directory listing" in sandbox.request("GET", "/proxy/3100/").text
    assert "Directory listing" in sandbox.request("GET", "/", headers={"Host": host}).text
    assert "Directory listing" in sandbox.request("GET", "/", headers={"x-aio-proxy-port": "3100"}).text
    assert sandbox.request("GET", "/absproxy/3100/").status_code == 404, "the program sees the whole path, and has no such file"
    assert ask(sandbox, "/proxy/3100/").status_code == 401
    assert ask(sandbox, "/", Host=host).status_code == 401


def test_what_the_sandbox_serves_itself_cannot(sandbox: "Sandbox") -> None:
    serve(sandbox, 3200, "control")
    for port in (3200, 8080):
        answer = sandbox.request("GET", f"/proxy/{port}/")
        assert answer.status_code == 403
        assert f"port {port} belongs to the sandbox itself" in answer.json()["message"]
        assert sandbox.request("GET", "/", headers={"Host": f"{port}-x"}).status_code == 403


@pytest.mark.slow
def test_killed_processes_come_back_and_nobody_is_signed_out(mended: "Sandbox") -> None:
    link = mended.exec("sandbox", "sign-in", "--url", mended.base_url).stdout.strip()
    ticket = mended.request("POST", "/tickets").json()["ticket"]
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False, follow_redirects=True, headers=HTML) as browser:
        assert browser.get(link).status_code == 200
        for program in ("sandbox_server serve", "nginx"):
            assert mended.exec("pkill", "-9", "-f", program).code == 0
            mended.wait_ready()
            assert browser.get(f"{mended.base_url}/").status_code == 200
    assert ask(mended, f"/v1/sandbox?ticket={ticket}").status_code == 200


def test_no_log_line_holds_a_credential(sandbox: "Sandbox") -> None:
    ticket = sandbox.request("POST", "/tickets").json()["ticket"]
    ask(sandbox, f"/v1/sandbox?ticket={ticket}")
    ask(sandbox, f"/proxy/1/?api_key={sandbox.api_key}")
    until(lambda: '"path":"/proxy/1/"' in sandbox.logs())
    log = sandbox.logs()
    assert sandbox.api_key not in log
    assert ticket not in log
