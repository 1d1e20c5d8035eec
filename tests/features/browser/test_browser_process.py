"""Where the browser is, and starting it anew."""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox_server.core import Call, Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.features.browser.browser_process import BrowserRunning, BrowserViewport, RestartRequest

pytestmark = pytest.mark.anyio


class FakeOwner:
    """A browser whose page may hang."""

    def __init__(self, *, hangs: bool = False) -> None:
        self._hangs = hangs
        self.restarted: list[dict[str, Any]] = []

    async def version(self) -> dict[str, str]:
        return {"User-Agent": "Agent/1", "webSocketDebuggerUrl": "ws://browser/devtools/browser/here"}

    async def page_size(self) -> tuple[int, int]:
        if self._hangs:
            raise Unavailable("the browser did not answer")
        return 1280, 900

    async def restart(self, policies: dict[str, Any]) -> None:
        self.restarted.append(policies)


class FakeDesktop:
    """A screen."""

    @property
    def screen(self) -> "FakeDesktop":
        return self

    async def size(self) -> tuple[int, int]:
        return 1280, 1024


def call(base_url: str) -> Call:
    return Call(Caller("someone"), "1", base_url=base_url)


def running(owner: FakeOwner, reattach: Any = None) -> BrowserRunning:
    return BrowserRunning(owner, FakeDesktop(), reattach)  # type: ignore[arg-type]


async def test_addresses_are_at_the_host_by_which_the_caller_came() -> None:
    told = await running(FakeOwner()).get_info(call("https://box.example:8443"))
    assert told.cdp_url == "wss://box.example:8443/devtools/browser/here"
    assert told.vnc_url == "https://box.example:8443/vnc/index.html?autoconnect=true"
    assert (told.viewport, told.page_viewport) == (BrowserViewport(width=1280, height=1024), BrowserViewport(width=1280, height=900))


async def test_a_page_that_hangs_costs_its_size_alone() -> None:
    told = await running(FakeOwner(hangs=True)).get_info(call("http://a"))
    assert (told.page_viewport, told.user_agent, told.cdp_url) == (None, "Agent/1", "ws://a/devtools/browser/here")


async def test_only_policies_that_were_given_are_changed() -> None:
    owner = FakeOwner()
    await running(owner).restart(RestartRequest.model_validate({"url_blocklist": ["*"], "allow_file_selection_dialogs": None}))
    await running(owner).restart(RestartRequest())
    assert owner.restarted == [{"url_blocklist": ["*"], "allow_file_selection_dialogs": None}, {}]


async def test_a_soft_restart_leaves_the_browser_alone() -> None:
    owner, let_go = FakeOwner(), []

    async def reattach() -> None:
        let_go.append(True)

    await running(owner, reattach).restart(RestartRequest(mode="soft"))
    assert (owner.restarted, let_go) == ([], [True])


@pytest.mark.parametrize("pattern", ["example.com", ".example.com/a", "localhost:8080", "https://*", "chrome://*", "data:*", "[::1]:80"])
def test_an_exception_names_a_host_or_a_scheme(pattern: str) -> None:
    assert RestartRequest.model_validate({"url_allowlist": [pattern]}).url_allowlist == [pattern]


@pytest.mark.parametrize(
    "pattern", ["*", "*://*", "file:///run", "FILE://*", "file:*", "/run", "~/x", " file:/x", "fi\tle:/x", "view-source:file:///x", ""]
)
def test_no_exception_opens_files(pattern: str) -> None:
    with pytest.raises(ValidationError, match="must name a host"):
        RestartRequest.model_validate({"url_allowlist": ["example.com", pattern]})
