"""The browser in the running image, through the gateway: its own sandbox, the agent's files, and where to reach it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_sandbox import Sandbox as Client
from websockets.exceptions import InvalidStatus

from tests.browser_clients import drive_with_browser_use, drive_with_chrome_devtools_mcp, drive_with_playwright, drive_with_puppeteer
from tests.cdp.conftest import Session
from tests.image.conftest import new_launcher
from tests.image.container import PROFILE, Sandbox
from tests.image.sockets import connect
from tests.image.test_box import bash, post
from tests.patience import until

Start = Callable[..., Sandbox]
SAVE = """(() => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(['saved'])); link.download = 'saved.txt'; link.click();
})()"""
DEVICE = "[innerWidth, navigator.maxTouchPoints, /Mobile/.test(navigator.userAgent)].join()"
SPY = """for process in /proc/[0-9]*; do
  if grep -q chromium $process/comm; then
    found=1; readlink $process/fd/3 $process/fd/4 && exit 3; grep -q . $process/environ && exit 4
  fi
done; test "$found" """


@pytest.fixture(scope="module")
def browsing() -> Iterator[Sandbox]:
    """A container whose browser these tests drive."""
    launcher = new_launcher("browsing")
    try:
        sandbox = launcher.start()
        until(lambda: answers(sandbox))  # on a busy machine the browser comes after all else, and is 503 before
        yield sandbox
    finally:
        launcher.remove()


def answers(sandbox: Sandbox) -> bool:
    """Whether the browser takes a DevTools client."""
    try:
        with devtools(sandbox):
            return True
    except InvalidStatus as refused:
        if refused.response.status_code != 503:
            raise
        return False


def devtools(sandbox: Sandbox, path: str = "/devtools/browser/any") -> Session:
    """A DevTools client through the gateway."""
    return Session(
        connect(f"{sandbox.base_url.replace('http', 'ws')}{path}", additional_headers=sandbox.headers, max_size=None, legacy=True)
    )


def text_of(sandbox: Sandbox, url: str) -> str:
    """What a page shows, once it shows something."""
    with devtools(sandbox) as client:
        target = client.result("Target.createTarget", url=url)["targetId"]
        session = client.attach(target)
        shown: list[str] = []

        def shows() -> bool:
            shown[:] = [str(client.seen("document.readyState == 'complete' ? document.body.innerText : ''", session) or "")]
            return bool(shown[0].strip())

        until(shows)
        close(client, target)
    return shown[0]


def close(client: Session, target: str) -> None:
    """Close a tab, and return once it is gone: what is asked of the tab in front next must not meet one that is on its way out."""
    client.result("Target.closeTarget", targetId=target)
    until(lambda: all(page["targetId"] != target for page in client.pages()))


def test_chromium_calls_itself_adequately_sandboxed(browsing: Sandbox) -> None:
    said = text_of(browsing, "chrome://sandbox")
    assert "You are adequately sandboxed." in said
    assert "Namespace" in said
    checks = browsing.request("GET", "/v1/doctor").json()["data"]["checks"]
    assert [check["status"] for check in checks if check["name"] == "browser_sandbox"] == ["holds"]


def test_the_browser_shows_the_agents_files_and_saves_where_the_agent_sees(browsing: Sandbox) -> None:
    bash(browsing, "echo '<body>written in the box</body>' > /tmp/page.html; sudo sh -c 'echo by root > /srv/page.txt'")
    assert text_of(browsing, "file:///tmp/page.html") == "written in the box"
    assert text_of(browsing, "file:///srv/page.txt").strip() == "by root"
    with devtools(browsing) as client:
        client.evaluate(SAVE, client.attach(client.pages()[0]["targetId"]))
    until(lambda: bash(browsing, "cat ~/Downloads/saved.txt && echo more >> ~/Downloads/saved.txt")["stdout"] == "saved")


@pytest.mark.parametrize(
    "address", ["file:///run/", "file:////run/", "file:///tmp/../proc/self/cmdline", "file:///%72un/", "file:///etc/passwd"]
)
def test_the_browser_shows_no_files_but_the_agents(browsing: Sandbox, address: str) -> None:
    refused = browsing.request("POST", "/v1/browser/page/navigate", json={"url": address})
    assert (refused.status_code, refused.json()["data"]["error"]) == (409, "ERR_BLOCKED_BY_ADMINISTRATOR")
    with devtools(browsing) as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        assert "BLOCKED" in client.result("Page.navigate", client.attach(target), url=address)["errorText"]
        close(client, target)


def test_a_person_is_refused_them_too(browsing: Sandbox) -> None:
    post(browsing, "/v1/browser/page/navigate", url="data:text/html,<title>Before</title>")
    keys = [{"action_type": "HOTKEY", "keys": ["ctrl", "l"]}, {"action_type": "TYPING", "text": "file:///run/sandbox-desktop/"}]

    def is_blocked() -> bool:  # Chromium gives a page what is typed until that page has left ctrl+l to it, so it is typed again
        post(browsing, "/v1/browser/actions/batch", actions=[*keys, {"action_type": "PRESS", "key": "enter"}])
        return "This page is blocked" in browsing.request("GET", "/v1/browser/page/text").text

    until(is_blocked)


@pytest.mark.parametrize(
    "text",
    [
        "العربية اللغة",
        "שלום עולם",
        "汉字 かな 한글 😀",
        "".join(chr(0x430 + number) for number in range(32)) + "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    ],
)
def test_what_is_typed_is_what_a_page_gets(browsing: Sandbox, text: str) -> None:
    post(browsing, "/v1/browser/page/navigate", url="data:text/html,<meta charset=utf-8><textarea></textarea>")
    post(browsing, "/v1/browser/page/click", selector="textarea")
    post(browsing, "/v1/browser/actions", action_type="TYPING", text=text, use_clipboard=False)
    expression = {"expression": "document.querySelector('textarea').value"}
    until(lambda: browsing.request("POST", "/v1/browser/page/evaluate", json=expression).json()["data"] == text)


def test_neither_a_link_nor_a_form_field_nor_a_policy_leads_there(browsing: Sandbox) -> None:
    bash(browsing, "ln -sfn /run/sandbox-desktop /tmp/link; echo '<input type=file>' > /tmp/form.html")
    assert browsing.request("POST", "/v1/browser/page/navigate", json={"url": "file:///tmp/link/"}).status_code == 409
    with devtools(browsing) as client:
        target = client.result("Target.createTarget", url="file:///tmp/form.html")["targetId"]
        session = client.attach(target)
        until(lambda: client.seen("document.querySelectorAll('input').length", session) == 1)
        field = client.result("Runtime.evaluate", session, expression="document.querySelector('input')")["result"]["objectId"]
        refused = client.command("DOM.setFileInputFiles", session, objectId=field, files=["/run/sandbox-desktop/authority"])
        assert "may not name" in refused["error"]["message"]
        client.result("DOM.setFileInputFiles", session, objectId=field, files=["/tmp/form.html"])
        close(client, target)
    for pattern in ("*", "file:///run/"):
        assert browsing.request("POST", "/v1/browser/restart", json={"url_allowlist": [pattern]}).status_code == 422


def test_root_in_the_box_reaches_neither_its_pipe_nor_its_profile(browsing: Sandbox) -> None:
    assert bash(browsing, f"sudo sh -c '{SPY}'")["exit_code"] == 0
    assert bash(browsing, "sudo ls /run/sandbox-desktop")["exit_code"] != 0
    assert (
        bash(browsing, "sudo find / -xdev -name 'Login Data' -o -xdev -name authority -path '*sandbox-desktop*' | grep .")["exit_code"] != 0
    )


def test_the_sdk_is_told_where_the_browser_is_and_playwright_drives_it_there(browsing: Sandbox) -> None:
    client = Client(base_url=browsing.base_url, headers=browsing.headers, httpx_client=browsing.http)
    told = client.browser.get_info().data
    assert told is not None
    assert told.page_viewport is not None
    assert (told.viewport.width, told.viewport.height, told.page_viewport.width) == (1280, 1024, 1280)
    assert 700 < told.page_viewport.height < 1024
    drive_with_playwright(told.cdp_url, browsing.headers, "told by the SDK")


def test_playwright_finds_it_by_http_with_and_without_a_prefix(browsing: Sandbox) -> None:
    drive_with_playwright(browsing.base_url, browsing.headers, "by http")
    drive_with_playwright(f"{browsing.base_url}/cdp", browsing.headers, "by prefix")


def test_puppeteer_drives_it(browsing: Sandbox) -> None:
    drive_with_puppeteer(f"ws://{browsing.name}:8080/devtools/browser/any", browsing.headers)


def test_chrome_devtools_mcp_drives_it(browsing: Sandbox) -> None:
    drive_with_chrome_devtools_mcp(f"ws://{browsing.name}:8080/devtools/browser/any", browsing.headers)


def test_browser_use_drives_it(start_sandbox: Start) -> None:
    """In a container of its own: it looks at all pages that there are, those of other tests too."""
    browsing = start_sandbox()
    bash(browsing, "mkdir -p /tmp/site && echo '<title>Hello</title><button>Press me</button>' > /tmp/site/index.html")
    bash(browsing, "cd /tmp/site && exec setsid python3 -m http.server 8765 --bind 127.0.0.1 > /dev/null 2>&1 < /dev/null & disown")
    until(lambda: bash(browsing, "curl -fs http://127.0.0.1:8765/")["exit_code"] == 0)
    drive_with_browser_use(f"ws://{browsing.name}:8080/devtools/browser/any", browsing.headers, "http://127.0.0.1:8765/")


ANSWERED = (-32001, -32000)
"""No such session any more, or closed: Chromium may be quick enough to say itself that its page goes."""


def test_what_waits_in_a_page_that_closes_or_a_browser_that_ends_is_answered(browsing: Sandbox) -> None:
    never = {"expression": "new Promise(() => {})", "awaitPromise": True}
    with devtools(browsing) as client, devtools(browsing) as other:
        first, second = (client.result("Target.createTarget", url="about:blank")["targetId"] for _ in range(2))
        session, last = client.attach(first), client.attach(second)
        waiting, longer = client.send("Runtime.evaluate", session, **never), client.send("Runtime.evaluate", last, **never)
        assert client.evaluate("6 * 7", session) == 42
        assert client.evaluate("6 * 7", last) == 42  # so the browser has read the others
        close(other, first)
        assert client.reply(waiting)["error"]["code"] in ANSWERED
        close(other, second)
        assert client.reply(longer)["error"]["code"] in ANSWERED
        final = client.send("Runtime.evaluate", client.attach(client.pages()[0]["targetId"]), **never)
        post(browsing, "/v1/browser/restart")
        assert client.reply(final)["error"]["code"] in ANSWERED
        client.until_closed()


def test_nobody_drives_it_without_signing_in(browsing: Sandbox) -> None:
    for path in ("/json/version", "/cdp/json/list", "/json/new?about:blank", "/devtools/browser/any"):
        assert browsing.http.get(f"{browsing.base_url}{path}").status_code == 401
    for path in ("/browser", "/browser/restart", "/browser/emulation"):  # for the API alone
        assert browsing.request("GET", path).status_code == 404


def test_a_restart_changes_policies_and_keeps_the_tabs(browsing: Sandbox) -> None:
    with devtools(browsing) as client:
        client.result("Target.createTarget", url="data:text/html,<title>Kept</title>")
        until(lambda: "Kept" in browsing.request("GET", "/json/list").text)  # it is on its way from a blank page
    post(browsing, "/v1/browser/restart", url_blocklist=["blocked.example"], locale="nl")
    until(lambda: "Kept" in browsing.request("GET", "/json/list").text)
    assert "blocked" in text_of(browsing, "http://blocked.example/").lower()
    post(browsing, "/v1/browser/restart", mode="soft")
    post(browsing, "/v1/browser/restart", url_blocklist=[], locale="en-US")
    assert browsing.request("POST", "/v1/browser/restart", json={"locale": "$(id)"}).status_code == 422


def test_pages_find_another_device_until_it_is_taken_back(browsing: Sandbox) -> None:
    seen = f"data:text/html,<meta name=viewport content=width=device-width><body><script>document.body.append({DEVICE})</script>"
    post(browsing, "/v1/browser/config", device={"width": 390, "height": 844, "scale": 2})
    assert text_of(browsing, seen) == "390,5,true"
    post(browsing, "/v1/browser/config", device=None)
    assert text_of(browsing, seen).endswith(",0,false")
    assert browsing.request("POST", "/v1/browser/config", json={"device": {"width": 0}}).status_code == 422


def test_a_suspended_browser_goes_on_for_whoever_asks_it(browsing: Sandbox) -> None:
    with devtools(browsing) as client:
        session = client.attach(client.pages()[0]["targetId"])
        before = client.evaluate("window.before = Math.random()", session)
        post(browsing, "/v1/suspend")
        assert client.evaluate("window.before", session) == before


def test_the_browser_comes_back_with_a_new_box(browsing: Sandbox) -> None:
    with devtools(browsing) as client:
        client.result("Target.createTarget", url="file:///tmp/after.html")
        until(lambda: "file:///tmp/after.html" in browsing.request("GET", "/json/list").text)
        post(browsing, "/v1/box/restart")
        client.until_closed()
    bash(browsing, "echo '<title>After</title>' > /tmp/after.html")
    until(lambda: "file:///tmp/after.html" in browsing.request("GET", "/json/list").text)


def test_without_namespaces_and_landlock_it_does_not_start_and_says_why(start_sandbox: Start, tmp_path: Path) -> None:
    profile = json.loads(Path(PROFILE).read_text("utf-8"))
    ours = sum(len(json.loads(Path(f"deploy/seccomp/{name}.json").read_text("utf-8"))["syscalls"]) for name in ("chromium", "box"))
    plain = tmp_path / "plain.json"
    rules = [rule | {"names": [name for name in rule["names"] if "landlock" not in name]} for rule in profile["syscalls"][:-ours]]
    plain.write_text(json.dumps(profile | {"syscalls": rules}))
    sandbox = start_sandbox(args=[f"--security-opt=seccomp={plain}"])
    refused = sandbox.request("GET", "/json/version")
    assert (refused.status_code, "seccomp" in refused.json()["hint"]) == (503, True)
    [check] = [check for check in sandbox.request("GET", "/v1/doctor").json()["data"]["checks"] if check["name"] == "browser_sandbox"]
    assert (check["status"], "does not start" in check["detail"]) == ("lost", True)
    assert "--no-sandbox" not in sandbox.exec("ps", "-eo", "args").stdout


def test_a_lazy_browser_starts_when_it_is_asked_for(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"BROWSER_START": "lazy"})
    assert "chromium" not in sandbox.exec("ps", "-eo", "comm").stdout
    assert sandbox.request("GET", "/v1/browser/info").status_code == 200
    assert "chromium" in sandbox.exec("ps", "-eo", "comm").stdout
