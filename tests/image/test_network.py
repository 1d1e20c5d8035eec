"""The browser's requests, messages, cookies, downloads, recordings and sound, from outside, in the running image."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest
from agent_sandbox import AsyncSandbox
from agent_sandbox import Sandbox as Client

from tests.drivers.devtools.har_schema import SCHEMA
from tests.drivers.video.mp4 import colours, loudness
from tests.image.container import Sandbox
from tests.patience import PATIENCE_SECONDS, until

SITE = "http://site.example"
PAGE = """<!doctype html><title>Page</title><script>
console.log('hello', {a: 1}); localStorage.setItem('name', 'kept'); setTimeout(() => { throw new Error('lost') });
fetch('/data').then(r => r.text()).then(text => document.title = text);
</script><style>body { background: blue }</style>"""
TONE = """<!doctype html><title>Tone</title><script>
const audio = new AudioContext(), tone = audio.createOscillator(); tone.connect(audio.destination); tone.start(); audio.resume();
</script>"""
FILE = {
    "body": "downloaded",
    "headers": {"Content-Disposition": "attachment; filename=report.txt"},
    "content_type": "application/octet-stream",
}


class Browser:
    """The browser of a sandbox, on a site that is nothing but routes."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.client = Client(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=sandbox.http)
        until(lambda: sandbox.request("GET", "/cdp/json/version").status_code == 200, told=sandbox.logs)

    def serve(self, path: str, body: str, **more: Any) -> None:
        """Have a path of the site answered."""
        self.client.browser_network.add_route(url_pattern=f"{SITE}{path}", response={"body": body, "content_type": "text/html", **more})

    def open(self, url: str) -> None:
        """Open a tab in front, and load an address once the rules hold for it: a host that answers at once would answer itself."""
        assert self.sandbox.request("PUT", f"/cdp/json/new?{quote('about:blank', safe='')}").status_code == 200
        self.sandbox.request("POST", "/v1/browser/page/navigate", json={"url": url})

    def titles(self) -> list[str]:
        """The titles of the tabs."""
        return [each["title"] for each in self.sandbox.request("GET", "/cdp/json/list").json()]

    def post(self, path: str, **body: Any) -> Any:
        """Call an operation that must succeed, and return its data."""
        answer = self.sandbox.request("POST", path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def download(self, path: str, folder: Path) -> Path:
        """Fetch a file of the agent."""
        made = folder / "fetched"
        made.write_bytes(self.sandbox.request("GET", "/v1/file/download", params={"path": path}).content)
        return made


@pytest.fixture(scope="module")
def browser(sandbox_with: Callable[..., Sandbox]) -> Iterator[Browser]:
    """A browser that shows the site's page."""
    opened = Browser(sandbox_with(env={"BROWSER_EXTRA_ARGS": "--autoplay-policy=no-user-gesture-required"}))
    opened.serve("/page", PAGE)
    opened.serve("/data", "answered", headers={"X-Secret": "hush"})
    opened.open(f"{SITE}/page")
    until(lambda: "answered" in opened.titles(), told=opened.sandbox.logs)
    yield opened
    assert "hush" not in opened.sandbox.logs()


def test_a_page_gets_what_routes_answer_and_its_requests_are_logged(browser: Browser) -> None:
    def last() -> tuple[object, ...]:
        listed = browser.client.browser_network.get_requests(filter=f"{SITE}/data").data or [{}]
        return tuple(listed[-1].get(name) for name in ("status", "resource_type", "method"))

    until(lambda: last() == (200, "fetch", "GET"))


def test_the_log_is_exported_as_a_valid_archive(browser: Browser, tmp_path: Path) -> None:
    def bodies() -> tuple[str | None, ...]:
        browser.client.browser_network.export_har(save_path="/home/gem/log.har")
        archive = json.loads(browser.download("/home/gem/log.har", tmp_path).read_text())
        jsonschema.validate(archive, SCHEMA)
        found = {entry["request"]["url"]: entry["response"]["content"].get("text") for entry in archive["log"]["entries"]}
        return tuple(found.get(f"{SITE}/{name}") for name in ("page", "data"))

    until(lambda: bodies() == (PAGE, "answered"))


def test_messages_of_the_page_are_listed_and_exported(browser: Browser, tmp_path: Path) -> None:
    until(lambda: len(browser.client.browser_page.get_console().data or []) >= 2)
    messages = browser.client.browser_page.get_console().data or []
    assert ("log", "hello {a: 1}") in [(message["type"], message["text"]) for message in messages]
    assert any(message["source"] == "exception" and "lost" in message["text"] for message in messages)
    assert browser.client.browser_page.export_console(save_path="/home/gem/console.json", clear=True).success
    assert len(json.loads(browser.download("/home/gem/console.json", tmp_path).read_text())) >= 2
    assert browser.client.browser_page.get_console().data == []


def test_state_is_saved_for_its_owner_alone_and_loaded(browser: Browser, tmp_path: Path) -> None:
    browser.client.browser_cookies.set_cookies(cookies=[{"name": "who", "value": "me", "domain": "site.example", "path": "/"}])
    browser.client.browser_state.save(path="/home/gem/state.json")
    state = json.loads(browser.download("/home/gem/state.json", tmp_path).read_text())
    assert {"origin": SITE, "localStorage": [{"name": "name", "value": "kept"}]} in state["origins"]
    browser.client.browser_cookies.clear_cookies()
    browser.client.browser_state.load(path="/home/gem/state.json")
    cookies = browser.client.browser_cookies.get_cookies(urls=SITE).data or []
    assert [cookie["value"] for cookie in cookies] == ["me"]


def test_a_download_gets_to_the_agent(browser: Browser, tmp_path: Path) -> None:
    browser.client.browser_network.add_route(url_pattern=f"{SITE}/file", response=FILE)
    browser.open(f"{SITE}/file")
    until(lambda: [each for each in downloads(browser) if each["state"] == "completed"], told=browser.sandbox.logs)
    [download] = [each for each in downloads(browser) if each["suggested_filename"] == "report.txt"]
    assert (download["path"], download["url"]) == ("/home/gem/Downloads/report.txt", f"{SITE}/file")
    seen = browser.post("/v1/bash/exec", command="cat ~/Downloads/report.txt && rm ~/Downloads/report.txt")
    assert (seen["stdout"], seen["exit_code"]) == ("downloaded", 0)


def test_a_download_is_waited_for_from_before_its_click_and_after_its_end(browser: Browser) -> None:
    link = '<!doctype html><title>Link</title><a href="data:application/octet-stream,waited" download="waited.txt">Get it</a>'
    browser.serve("/link", link)
    browser.post("/v1/browser/page/navigate", url=f"{SITE}/link")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(browser.post, "/v1/browser/page/wait", type="download", timeout=60, save_path="/tmp/first.txt")
        until(lambda: waiting.running())
        browser.post("/v1/browser/page/click", selector="a")
        assert waiting.result()["filename"] == "waited.txt"
    browser.post("/v1/browser/page/click", selector="a")
    second = browser.post("/v1/browser/page/wait", type="download", timeout=60)
    assert second["path"].startswith("/home/gem/Downloads/waited")
    assert browser.post("/v1/bash/exec", command=f"cat /tmp/first.txt '{second['path']}'")["stdout"] == "waitedwaited"


def downloads(browser: Browser) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = browser.sandbox.request("GET", "/v1/browser/downloads").json()["data"]
    return found


def test_a_page_is_recorded_once_or_until_it_is_stopped(browser: Browser, tmp_path: Path) -> None:
    browser.serve("/video", "<!doctype html><title>Recording</title><style>body { background: blue }</style>")
    browser.open("about:blank")
    browser.sandbox.show(f"{SITE}/video")
    once = browser.client.browser_page.record(action="once", duration=1.5, fps=10, save_path="/home/gem/once.mp4").data or {}
    assert (once["status"], once["duration"], once["error"]) == ("stopped", 1.5, None)
    assert colours(browser.download("/home/gem/once.mp4", tmp_path)) == ["blue"]

    async def in_steps() -> list[str]:
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as connections:
            client = AsyncSandbox(base_url=browser.sandbox.base_url, headers=browser.sandbox.headers, httpx_client=connections)
            answers = [await client.browser_page.record(action=action) for action in ("start", "pause", "resume", "status", "stop")]
        return [(answer.data or {})["status"] for answer in answers]

    assert asyncio.run(in_steps()) == ["recording", "paused", "recording", "recording", "stopped"]


def test_a_page_that_plays_a_tone_is_heard_in_a_film_of_the_desktop(browser: Browser, tmp_path: Path) -> None:
    browser.serve("/tone", TONE)
    browser.post("/v1/display/record", action="start", save_path="/home/gem/tone.mp4")
    browser.open(f"{SITE}/tone")
    until(lambda: "Tone" in browser.titles())
    until(lambda: is_heard(browser, tmp_path), told=browser.sandbox.logs)
    assert browser.post("/v1/display/record", action="stop")["error"] is None


def is_heard(browser: Browser, folder: Path) -> bool:
    """Whether the recording, which can be watched while it is made, has a loud sound in it."""
    return max(loudness(browser.download("/home/gem/tone.mp4", folder)), default=0) > 5000


def test_rules_and_logs_are_there_after_the_browser_was_killed(browser: Browser) -> None:
    browser.sandbox.exec("sh", "-c", "pkill -9 -o -u desktop -f '[c]hromium/chromium '")
    until(lambda: browser.sandbox.request("PUT", "/cdp/json/new?about:blank").status_code == 200, told=browser.sandbox.logs)
    before = len(browser.client.browser_network.get_requests(filter=f"{SITE}/data").data or [])
    until(lambda: is_answered(browser), told=browser.sandbox.logs)
    until(lambda: len(browser.client.browser_network.get_requests(filter=f"{SITE}/data").data or []) > before)


def test_rules_hold_after_the_server_was_killed(browser: Browser) -> None:
    before = browser.sandbox.exec("pgrep", "-o", "-f", "sandbox_server serve").stdout.strip()
    browser.sandbox.exec("kill", "-9", before)
    until(lambda: browser.sandbox.exec("pgrep", "-o", "-f", "sandbox_server serve").stdout.strip() not in ("", before))
    browser.sandbox.wait_ready()
    until(lambda: is_answered(browser), told=browser.sandbox.logs)


def is_answered(browser: Browser) -> bool:
    """Whether a route answers a page that is opened now."""
    browser.open(f"{SITE}/page")
    return "answered" in browser.titles()
