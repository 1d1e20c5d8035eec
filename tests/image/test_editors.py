"""JupyterLab and code-server through the gateway."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.image.container import Sandbox
from tests.image.sockets import connect
from tests.image.test_control import Person
from tests.patience import until

ACT, REACHED = "/jupyter/api/kernels/00000000-0000-0000-0000-000000000000/interrupt", 404
"""What acts, and how JupyterLab answers it: there is no such kernel."""
LOCAL = {"X-Forwarded-Host": "localhost:8080"}
"""A browser that reaches the gateway at this machine, where every preview has a name of its own."""


def lab(sandbox: Sandbox, path: str) -> Any:
    """What JupyterLab answers."""
    answer = sandbox.request("GET", f"/jupyter/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def start(sandbox: Sandbox, name: str) -> None:
    """Start an editor."""

    def has_started() -> bool:  # a call gives it a minute, which a busy machine may not
        answer = sandbox.request("POST", f"/v1/editors/{name}/start")
        assert answer.status_code in (200, 504), answer.text
        return answer.status_code == 200

    until(has_started)


@pytest.fixture(scope="module")
def started(sandbox: Sandbox) -> Sandbox:
    """A sandbox in which JupyterLab runs."""
    start(sandbox, "jupyter")
    return sandbox


@pytest.fixture(scope="module")
def code(sandbox: Sandbox) -> Sandbox:
    """A sandbox in which code-server runs."""
    start(sandbox, "code-server")
    return sandbox


@pytest.fixture(scope="module", autouse=True)
def idle(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A sandbox in which both were started, JupyterLab on a port of its own, and are not used: JupyterLab takes its time to end."""
    sandbox = sandbox_with(env={"EDITOR_IDLE_SECONDS": "1", "JUPYTER_LAB_PORT": "9001"})
    for name in ("code-server", "jupyter"):  # JupyterLab last: it may end at its first look
        start(sandbox, name)
    assert sandbox.request("GET", "/jupyter/api").status_code == 200
    assert "jupyter" in running(sandbox)
    return sandbox


def running(sandbox: Sandbox) -> set[str]:
    """The editors that run."""
    return {editor["name"] for editor in sandbox.request("GET", "/v1/editors").json()["data"]["editors"] if editor["running"]}


@pytest.mark.slow
def test_a_programs_first_hit_starts_an_editor_and_says_when_to_come_again(sandbox: Sandbox) -> None:
    answer = sandbox.request("GET", "/code-server/")
    assert (answer.status_code, answer.json()["message"]) == (503, "code-server is starting")
    assert 1 <= int(answer.headers["Retry-After"]) <= 5
    until(lambda: sandbox.request("GET", "/code-server/").status_code != 503)
    sandbox.request("POST", "/v1/editors/code-server/stop").raise_for_status()


@pytest.mark.parametrize("path", ["/jupyter/lab", "/code-server/"])
def test_a_browser_that_is_signed_in_never_gets_an_editor_on_the_sandbox_s_own_origin(started: Sandbox, path: str) -> None:
    ticket = started.request("POST", "/tickets", json={}).json()["ticket"]
    signed = started.http.get(f"{started.base_url}/?ticket={ticket}", headers={"Accept": "text/html"})
    cookie = {"Cookie": signed.headers["set-cookie"].partition(";")[0], "Sec-Fetch-Site": "same-origin"}
    page = started.http.get(started.base_url + path, headers={**cookie, "Accept": "text/html"})
    other = started.http.get(started.base_url + path, headers=cookie)

    assert (page.is_redirect, page.headers["location"]) == (True, f"/static/editor/index.html?{path.split('/')[1]}")
    assert other.status_code == 403


def test_a_browser_is_led_to_jupyterlab_at_an_address_of_its_own(started: Sandbox) -> None:
    ticket = started.request("POST", "/tickets", json={"path_prefix": "/proxy/8888", "scopes": ["code"]}).json()["ticket"]
    address = f"{started.base_url}/proxy/8888/jupyter/api"
    own = started.http.get(f"{address}?ticket={ticket}", headers={"X-Forwarded-Host": "8888-preview.localhost"})

    assert (own.status_code, "version" in own.json()) == (200, True)


def test_both_editors_are_in_the_image(sandbox: Sandbox) -> None:
    listed = sandbox.request("GET", "/v1/editors").json()["data"]["editors"]

    assert {editor["name"]: editor["installed"] for editor in listed} == {"jupyter": True, "code-server": True}


def test_the_editors_are_behind_the_gateway_s_sign_in(started: Sandbox) -> None:
    assert started.http.get(f"{started.base_url}/jupyter/api/kernels").status_code == 401
    assert started.http.get(f"{started.base_url}/code-server/").status_code == 401


def test_jupyterlab_starts_every_python_and_runs_code_in_the_kernels_of_the_api(started: Sandbox) -> None:
    body = {"code": "shared = 41", "session_id": "shared"}
    assert started.request("POST", "/v1/jupyter/execute", json=body).json()["data"]["status"] == "ok"
    until(lambda: lab(started, "api/kernels"))
    kernel = lab(started, "api/kernels")[-1]["id"]
    header = {"msg_id": "m", "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3", "date": ""}
    content = {"code": "shared + 1", "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    request = {"header": header, "parent_header": {}, "metadata": {}, "channel": "shell", "content": content}
    address = f"ws://{started.name}:{started.port}/jupyter/api/kernels/{kernel}/channels"
    with connect(address, additional_headers=started.headers, proxy=None) as channel:
        channel.send(json.dumps(request))
        messages = iter(lambda: json.loads(channel.recv(30)), None)
        result = next(message for message in messages if message["msg_type"] in ("execute_result", "error"))
    started.request("DELETE", "/v1/jupyter/sessions/shared")

    assert result["content"]["data"] == {"text/plain": "42"}
    assert {"python3", "python3.10", "python3.11", "python3.12"} <= set(lab(started, "api/kernelspecs")["kernelspecs"])


def test_the_lab_is_the_page_that_a_browser_gets(started: Sandbox) -> None:
    page = started.request("GET", "/jupyter/lab")

    assert (page.status_code, "JupyterLab" in page.text) == (200, True)


def test_code_server_is_the_page_that_a_program_and_a_preview_get(code: Sandbox) -> None:
    page = code.request("GET", "/code-server/?folder=/home/gem")
    ticket = code.request("POST", "/tickets", json={"path_prefix": "/proxy/8200", "scopes": ["code"]}).json()["ticket"]
    preview = code.http.get(f"{code.base_url}/proxy/8200/healthz?ticket={ticket}", headers={"X-Forwarded-Host": "8200-preview.localhost"})

    assert (page.status_code, "vscode-workbench-web-configuration" in page.text) == (200, True)
    assert (preview.status_code, "status" in preview.json()) == (200, True)


@pytest.mark.parametrize("port", [8888, 8200])
@pytest.mark.parametrize("more", [(), ("-H", "Connection: upgrade", "-H", "Upgrade: websocket")])
def test_a_page_of_another_name_cannot_reach_an_editor_directly(started: Sandbox, code: Sandbox, port: int, more: tuple[str, ...]) -> None:
    status = ("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}")
    address = f"http://127.0.0.1:{port}/jupyter/api"

    assert started.run(*status, *more, "-H", "Host: evil.example", address).stdout == "403"
    assert code.run(*status, address).stdout != "403"


@pytest.mark.slow
def test_editors_that_nobody_uses_end(idle: Sandbox) -> None:
    until(lambda: running(idle) == set())


def agents(sandbox: Sandbox) -> dict[str, str]:
    """The headers of the agent's own token."""
    return {"Authorization": f"Bearer {sandbox.exec('cat', '/run/sandbox-agent/token').stdout.strip()}"}


def asked(sandbox: Sandbox, path: str, headers: dict[str, str]) -> int:
    """How a call is answered that acts in JupyterLab, which takes it for a page's of its own."""
    own = {"Cookie": f"{headers.get('Cookie', '')}; _xsrf=aa", "X-XSRFToken": "aa"}
    return sandbox.http.post(f"{sandbox.base_url}{path}", json={}, headers=headers | own).status_code


def test_while_a_person_drives_the_agent_runs_nothing_in_an_editor_by_any_credential_of_its_making(started: Sandbox) -> None:
    token, person = agents(started), Person(started)
    wishes: tuple[dict[str, object], ...] = (
        {},
        {"path_prefix": "/proxy/8888", "scopes": ["code"]},
        {"path_prefix": "/proxy/8888", "actor": "agent"},
    )
    tickets = [started.http.post(f"{started.base_url}/tickets", json=each, headers=token).json()["ticket"] for each in wishes for _ in "12"]
    acting = f"/proxy/8888{ACT}"
    assert asked(started, acting, token) == REACHED
    person.control("take")
    try:
        assert asked(started, ACT, token) == 423
        assert asked(started, acting, token) == 423
        for ticket in tickets[::2]:
            assert asked(started, f"{acting}?ticket={ticket}", {}) == 423
        for ticket in tickets[1::2]:
            page = started.http.get(f"{started.base_url}/proxy/8888/?ticket={ticket}", headers={"Accept": "text/html"} | LOCAL)
            cookie = {"Cookie": page.headers.get("set-cookie", "").partition(";")[0], "Origin": started.base_url}
            assert asked(started, acting, cookie) in (401, 423)
        made = started.http.post(f"{started.base_url}/tickets", json={"actor": "person"}, headers=token)
        assert (made.status_code, "left to people" in made.json()["message"]) == (403, True)
        address = started.base_url.replace("http:", "ws:") + "/proxy/8888/jupyter/terminals/websocket/1"
        with pytest.raises(InvalidStatus, match="423"), connect(address, additional_headers=token):
            pass
        assert asked(started, ACT, started.headers) == 423, "a program with the key is none either"
    finally:
        person.control("release")
    assert asked(started, acting, token) == REACHED


def test_the_person_who_drives_works_in_an_editor_and_another_person_does_not(started: Sandbox) -> None:
    ann, bob = Person(started), Person(started)
    ann.control("take")
    try:
        for person, status in ((ann, REACHED), (bob, 423)):
            cookie = {"Cookie": person.headers["Cookie"], "Accept": "text/html"} | LOCAL
            led = started.http.get(f"{started.base_url}/proxy/8888/jupyter/api", headers=cookie)
            own = {"Host": "8888-preview.localhost:8080"}
            query = led.headers["location"].partition("?")[2]
            page = started.http.get(f"{started.base_url}/jupyter/api?{query}", headers={"Accept": "text/html"} | own)
            there = {"Cookie": page.headers["set-cookie"].partition(";")[0], "Origin": f"http://{own['Host']}"} | own
            assert asked(started, ACT, there) == status
    finally:
        ann.control("release")


def test_an_editor_that_runs_is_neither_listed_among_the_ports_nor_shared(started: Sandbox) -> None:
    listed = {each["port"] for each in started.request("GET", "/v1/ports").json()["data"]["ports"]}
    shared = started.request("POST", "/v1/ports/8888/share", json={})

    assert not listed & {8888, 8200, 8080}
    assert (shared.status_code, "an editor's" in shared.json()["message"]) == (403, True)
    assert started.request("GET", "/proxy/8888/jupyter/api").status_code == 200, "who is signed in sees it"
