"""Profiles of the browser: logins that outlive the container, copies, encrypted files, and tokens that name some."""

import base64
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.image.conftest import new_launcher
from tests.image.container import KEY, Launcher, Sandbox, engine
from tests.patience import until

Start = Callable[..., Sandbox]
PRIVATE = ec.generate_private_key(ec.SECP256R1())
PASSPHRASE = "correct horse battery staple"
SITE = """
import http.server
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if self.path == "/sign-in":
            self.send_header("Set-Cookie", "login=mia; Max-Age=8640000; Path=/")
        if self.path == "/late":
            self.send_header("Set-Cookie", "late=yes; Max-Age=8640000; Path=/")
        self.end_headers()
        cookies = self.headers.get("Cookie", "")
        late = " late" if "late=yes" in cookies else ""
        self.wfile.write(f"<title>signed {'in' if 'login=mia' in cookies else 'out'}{late}</title>".encode())
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 8765), Site).serve_forever()
"""
ADDRESS = "http://localhost:8765"


def serve_site(sandbox: Sandbox) -> None:
    """Have the agent serve a site that knows who has signed in."""
    command = (
        f"printf %s {base64.b64encode(SITE.encode()).decode()} | base64 -d > /tmp/site.py; nohup python3 /tmp/site.py > /dev/null 2>&1 &"
    )
    assert sandbox.request("POST", "/v1/bash/exec", json={"command": command}).status_code == 200
    until(lambda: sandbox.run("curl", "-sf", ADDRESS).code == 0)


def visit(sandbox: Sandbox, path: str = "/", headers: dict[str, str] | None = None) -> str:
    """The title of the site's page."""
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": f"{ADDRESS}{path}"}, headers=headers).raise_for_status()
    answer = sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": "document.title"}, headers=headers)
    return str(answer.json()["data"])


def post(sandbox: Sandbox, path: str, status: int = 200, **fields: object) -> Any:
    """The data of an answer with that status."""
    answer = sandbox.request("POST", f"/v1/profiles{path}", json=fields)
    assert answer.status_code == status, answer.text
    return answer.json()["data"]


def listed(sandbox: Sandbox) -> dict[str, dict[str, Any]]:
    """The profiles by name."""
    found = sandbox.request("GET", "/v1/profiles").json()["data"]["profiles"]
    return {each["name"]: each for each in found}


def signed_in(sandbox: Sandbox, name: str) -> bool:
    """Whether a profile is signed in."""
    post(sandbox, f"/{name}/use")
    return visit(sandbox) == "signed in"


def imported(sandbox: Sandbox, name: str, content: bytes, passphrase: str = PASSPHRASE) -> httpx.Response:
    """The answer to an import."""
    fields = {"name": name, "passphrase": passphrase}
    return sandbox.request("POST", "/v1/profiles/import", files={"file": ("x.profile", content)}, data=fields)


@pytest.fixture
def volume() -> Iterator[str]:
    """A volume that outlives every container of a test."""
    name = f"tandem-profiles-{time.time_ns()}"
    yield name
    engine("volume", "rm", name)


def test_a_login_outlives_the_container_is_copied_and_signed_out_of(volume: str, start_sandbox: Start) -> None:
    mounted = [f"--volume={volume}:/sandbox"]
    first = start_sandbox(args=mounted)
    serve_site(first)
    assert visit(first) == "signed out"
    post(first, "", name="mail")
    post(first, "/mail/use")
    visit(first, "/sign-in")
    assert visit(first) == "signed in"
    post(first, "/mail/duplicate", to="saved")  # of the one in use: the browser is stopped and comes back
    assert visit(first) == "signed in"
    assert not signed_in(first, "default")
    assert signed_in(first, "saved")
    assert post(first, "/saved/sign-out", site="localhost")["cookies"] == 1
    assert visit(first) == "signed out"
    assert signed_in(first, "mail")
    visit(first, "/late")  # is written when the container stops
    first.stop()
    assert engine("rm", "--force", "--volumes", first.name).code == 0
    second = start_sandbox(args=mounted, env={"BROWSER_PROFILE": "mail"})
    serve_site(second)
    assert visit(second) == "signed in late"
    found = listed(second)
    assert (found["mail"]["in_use"], found["saved"]["in_use"], found["mail"]["problem"]) == (True, False, None)
    assert second.request("DELETE", "/v1/profiles/mail").status_code == 409
    assert not signed_in(second, "saved")
    assert second.request("DELETE", "/v1/profiles/mail").status_code == 200
    assert set(listed(second)) == {"default", "saved"}


@pytest.fixture(params=["unboxed", "plain"])
def without_box(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    """Starts containers without a box: where the browser has its namespaces, and where Landlock takes their place."""
    made = new_launcher(f"profiles-{request.param}", boxed=False, plain=request.param == "plain")
    yield made
    made.remove()


@pytest.mark.slow
def test_without_a_box_a_login_outlives_the_container_on_a_volume_of_its_own(without_box: Launcher) -> None:
    first = without_box.start(args=["--volume=/run/sandbox-profiles"], env={"BROWSER_PROFILE": "mail"})
    cookie = {"name": "login", "value": "mia", "domain": "example.org", "path": "/", "expires": 4_000_000_000}
    assert first.request("POST", "/v1/browser/cookies", json={"cookies": [cookie]}).status_code == 200
    first.stop()
    second = without_box.start(args=[f"--volumes-from={first.name}"], env={"BROWSER_PROFILE": "mail"})
    assert [each["name"] for each in second.request("GET", "/v1/browser/cookies").json()["data"]] == ["login"]
    assert listed(second)["mail"]["in_use"]
    post(second, "/mail/duplicate", to="copy")
    assert second.run("ls", "/run/sandbox-profiles").code != 0


def test_two_sandboxes_with_one_volume_never_have_one_profile(start_sandbox: Start) -> None:
    first = start_sandbox(args=["--volume=/run/sandbox-profiles"])
    second = start_sandbox(args=[f"--volumes-from={first.name}"])
    post(first, "", name="mail")
    post(first, "/mail/use")
    told = post(second, "/mail/use", 409)
    assert told["reason"] == "in_use"
    assert second.request("GET", "/v1/browser/info").status_code == 200
    assert (listed(second)["mail"]["held"], listed(second)["mail"]["in_use"]) == (True, False)
    assert post(second, "/mail/duplicate", 409, to="copy")["reason"] == "in_use"
    assert second.request("DELETE", "/v1/profiles/mail").status_code == 409
    assert post(first, "/mail/duplicate", to="copy")["name"] == "copy"
    engine("kill", first.name)  # the kernel releases the lock
    post(second, "/mail/use")
    assert listed(second)["mail"]["in_use"]


def test_a_profile_is_exported_and_imported_encrypted_and_a_wrong_file_makes_none(start_sandbox: Start) -> None:
    sandbox = start_sandbox()
    serve_site(sandbox)
    visit(sandbox, "/sign-in")
    answer = sandbox.request("POST", "/v1/profiles/default/export", json={"passphrase": PASSPHRASE})
    assert answer.status_code == 200, answer.text
    content = answer.content
    assert b"localhost" not in content
    assert b"SQLite" not in content
    assert imported(sandbox, "back", content).status_code == 200
    assert imported(sandbox, "back", content).json()["data"]["reason"] == "exists"
    wrong = [
        (content, "another passphrase"),
        (content[:-20], PASSPHRASE),
        (content[:500] + b"x" + content[501:], PASSPHRASE),
        (b"x", PASSPHRASE),
    ]
    for number, (body, passphrase) in enumerate(wrong):
        refused = imported(sandbox, f"wrong-{number}", body, passphrase)
        assert refused.status_code == 400, refused.text
        assert refused.json()["data"]["reason"] in ("passphrase", "malformed")
    assert imported(sandbox, "../up", content).status_code == 400
    assert set(listed(sandbox)) == {"default", "back"}
    assert signed_in(sandbox, "back")
    assert PASSPHRASE not in sandbox.request("GET", "/v1/recorder/events").text
    assert PASSPHRASE not in sandbox.logs()


def test_damage_and_a_newer_chromium_are_told_and_nothing_is_lost(start_sandbox: Start) -> None:
    sandbox = start_sandbox()
    for name in ("newer", "damaged", "linked"):
        post(sandbox, "", name=name)
    inside = "/sandbox/profiles"
    script = f"""cd {inside} && echo -n 9999.0.0.0 > 'newer/chromium/Last Version' && echo '{{' > 'damaged/chromium/Local State' &&
        mkdir -p linked/chromium/Default && ln -s /run/sandbox-desktop/authority linked/chromium/Default/History && chown -hR desktop ."""
    done = sandbox.exec("sh", "-c", script)
    assert done.code == 0, done.stderr
    assert post(sandbox, "/newer/use", 409)["reason"] == "newer_chromium"
    assert post(sandbox, "/damaged/use", 409)["reason"] == "damaged"
    for path, fields in (("/linked/duplicate", {"to": "copy"}), ("/linked/export", {"passphrase": PASSPHRASE})):
        assert post(sandbox, path, 409, **fields)["reason"] == "damaged"
    assert set(listed(sandbox)) == {"default", "newer", "damaged", "linked"}
    assert "9999.0.0.0" in listed(sandbox)["newer"]["problem"]
    post(sandbox, "/missing/use", 404)
    assert sandbox.request("GET", "/v1/browser/info").status_code == 200


def test_the_agent_reaches_no_profile_by_its_files(sandbox: Sandbox) -> None:
    post(sandbox, "", name="hidden")
    for path in ("/run/sandbox-profiles", "/sandbox/profiles", "/run/sandbox-desktop/chromium"):
        assert sandbox.run("ls", path, user="root").code != 0
    assert sandbox.request("DELETE", "/v1/profiles/hidden").status_code == 200


def test_a_token_uses_only_the_profiles_that_it_names(start_sandbox: Start) -> None:
    pem = PRIVATE.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    sandbox = start_sandbox(env={"JWT_PUBLIC_KEY": base64.b64encode(pem).decode()})
    assert sandbox.api_key == KEY
    claims = {"exp": int(time.time()) + 3600, "sub": "mia", "profiles": ["work-*"]}
    token = {"Authorization": f"Bearer {jwt.encode(claims, PRIVATE, 'ES256')}"}

    def ask(method: str, path: str, **body: object) -> httpx.Response:
        return sandbox.request(method, path, headers=token, **({"json": body} if method == "POST" else {}))

    for name in ("work-1", "mail"):
        post(sandbox, "", name=name)
    assert [each["name"] for each in ask("GET", "/v1/profiles").json()["data"]["profiles"]] == ["work-1"]
    for method, path in (
        ("GET", "/v1/browser/cookies"),
        ("GET", "/v1/browser/screenshot"),
        ("POST", "/v1/profiles/mail/use"),
        ("DELETE", "/v1/profiles/mail"),
        ("GET", "/json/list"),
        ("GET", "/stream/"),
        ("GET", "/vnc/index.html"),
    ):
        assert ask(method, path).status_code == 403, path
    for path, fields in (("/v1/profiles/mail/export", {"passphrase": PASSPHRASE}), ("/v1/profiles/mail/duplicate", {"to": "work-2"})):
        assert ask("POST", path, **fields).status_code == 403
    assert ask("POST", "/v1/profiles/work-1/use").status_code == 200
    assert ask("GET", "/v1/browser/cookies").status_code == 200
    assert ask("GET", "/json/list").status_code == 200
    assert ask("POST", "/v1/display/record", action="start").status_code == 403
    ticket = ask("POST", "/tickets").json()["ticket"]
    assert sandbox.http.get(f"{sandbox.base_url}/v1/profiles?ticket={ticket}").json()["data"]["profiles"][0]["name"] == "work-1"
    post(sandbox, "/mail/use")
    assert ask("GET", "/v1/browser/cookies").status_code == 403
    forged = sandbox.request("GET", "/v1/browser/cookies", headers=token | {"X-Sandbox-Profiles": "*"})
    assert forged.status_code == 403


def test_what_was_logged_and_ruled_of_one_profile_is_gone_with_it(start_sandbox: Start) -> None:
    sandbox = start_sandbox()
    serve_site(sandbox)
    rule = {"url_pattern": f"{ADDRESS}/made", "response": {"status": 200, "body": "<title>made up</title>", "content_type": "text/html"}}
    answer = sandbox.request("POST", "/v1/browser/network/route", json=rule)
    assert answer.status_code == 200, answer.text
    assert visit(sandbox, "/made") == "made up"
    assert ADDRESS in sandbox.request("GET", "/v1/browser/network/requests").text
    post(sandbox, "", name="mail")
    post(sandbox, "/mail/use")
    assert ADDRESS not in sandbox.request("GET", "/v1/browser/network/requests").text
    assert visit(sandbox, "/made") == "signed out"


def test_a_person_s_own_logins_come_in(start_sandbox: Start, tmp_path: Path) -> None:
    sandbox = start_sandbox()
    serve_site(sandbox)
    with closing(sqlite3.connect(tmp_path / "cookies.sqlite")) as opened:
        columns = "originAttributes TEXT, name TEXT, value TEXT, host TEXT, path TEXT, expiry INTEGER, isSecure, isHttpOnly, sameSite"
        opened.execute(f"CREATE TABLE moz_cookies ({columns})")
        rows = [
            ("", "login", "mia", "localhost", "/", 4_000_000_000, 0, 1, 1),
            ("^userContextId=1", "x", "y", "a.example", "/", 1, 0, 0, 0),
        ]
        opened.executemany("INSERT INTO moz_cookies VALUES (?,?,?,?,?,?,?,?,?)", rows)
        opened.commit()
    content = (tmp_path / "cookies.sqlite").read_bytes()
    answer = sandbox.request("POST", "/v1/profiles/default/logins", files={"file": ("cookies.sqlite", content)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"] == {"cookies": 1, "origins": 0, "left_out": 1}
    assert visit(sandbox) == "signed in"
    for body in (b"x", content[:3000], b"[]"):
        assert sandbox.request("POST", "/v1/profiles/default/logins", files={"file": ("x", body)}).status_code == 400
