"""What a client of the multiplexer may send."""

import pytest

from sandbox_server.cdp.command_rules import OWN, OWNER, ClientRules, refusal
from sandbox_server.cdp.messages import DevtoolsCommand
from sandbox_server.core.control import Holding
from sandbox_server.core.identity import ALL_SCOPES, Caller


def command(method: str, **params: object) -> DevtoolsCommand:
    return DevtoolsCommand(1, method, None, {"id": 1, "method": method, "params": params})


@pytest.mark.parametrize("method", ["Page.navigate", "Target.attachToTarget", "Browser.close"])
def test_a_caller_with_the_scope_drives_the_browser(method: str) -> None:
    assert refusal(Caller("ann"), command(method)) is None


@pytest.mark.parametrize("scopes", [set(), {"view"}, {"control", "shell", "files", "code", "admin", "view"}])
def test_a_caller_without_the_scope_sends_nothing(scopes: set[str]) -> None:
    assert "browser" in (refusal(Caller("eve", frozenset(scopes)), command("Browser.getVersion")) or "")


@pytest.mark.parametrize(
    "method",
    [
        "Target.exposeDevToolsProtocol",
        "Target.sendMessageToTarget",
        "Target.openDevTools",
        "PWA.launchFilesInApp",
        "Tethering.bind",
        "Cast.startDesktopMirroring",
        "Browser.executeBrowserCommand",
        "Extensions.loadUnpacked",
        "Emulation.setVirtualTimePolicy",
        "Domain.ofTomorrow",
    ],
)
def test_nobody_sends_what_would_carry_commands_unseen(method: str) -> None:
    assert method in (refusal(Caller("ann"), command(method)) or "")


@pytest.mark.parametrize(
    "path", ["/run/sandbox-desktop/authority", "//run", "/tmp/../proc/self/fd/3", "/var/run/x", "run/x", "/proc/1/root", "/dev/shm/x"]
)
def test_nobody_has_the_browser_read_or_write_its_own_files(path: str) -> None:
    reading, dragging = command("DOM.setFileInputFiles", files=["/tmp/a", path]), command("Input.dispatchDragEvent", data={"files": [path]})
    writing = [command(f"{domain}.setDownloadBehavior", behavior="allow", downloadPath=path) for domain in ("Browser", "Page")]
    for one in (reading, dragging, *writing, command("Extensions.loadUnpacked", path=path)):
        assert path in (refusal(Caller("ann"), one, extensions=True) or "")


@pytest.mark.parametrize("path", ["/tmp/a", "/home/gem/run/b", "/runner/c", "/var/tmp/d", "/var/folders/x", "C:\\\\d"])
def test_files_of_the_agent_may_be_named(path: str) -> None:
    assert refusal(Caller("ann"), command("DOM.setFileInputFiles", files=[path])) is None
    assert refusal(Caller("ann"), command("Browser.setDownloadBehavior", behavior="allow", downloadPath=path)) is None


@pytest.mark.parametrize("params", [{}, {"files": None}, {"files": [1]}, {"files": "/tmp"}])
def test_what_is_no_list_of_files_is_left_for_chromium_to_refuse(params: dict[str, object]) -> None:
    assert refusal(Caller("ann"), command("DOM.setFileInputFiles", **params)) is None
    assert refusal(Caller("ann"), DevtoolsCommand(1, "Input.dispatchDragEvent", None, {"params": [1]})) is None


HELD = Holding(5, "human", "ann", frozenset({"gui", "cdp"}))


def test_while_a_person_holds_the_pages_others_look_and_do_not_act() -> None:
    refused = ClientRules(HELD).refusal(Caller("key"), command("Page.navigate"))
    assert refused == "held_by_human: ann has control: nothing was done (epoch 5)"
    assert ClientRules(HELD).refusal(Caller("key"), command("Page.captureScreenshot")) is None
    assert ClientRules(HELD).refusal(Caller("ann", person=True), command("Page.navigate")) is None
    assert ClientRules(HELD).refusal(Caller("ann"), command("Page.navigate")) is not None


def test_who_holds_the_shell_leaves_the_pages() -> None:
    assert ClientRules(Holding(5, "human", "ann", frozenset({"shell"}))).refusal(Caller("key"), command("Page.navigate")) is None


def test_what_our_own_clients_do_was_judged_where_it_was_asked_for() -> None:
    assert ClientRules(HELD).refusal(Caller("api", frozenset({"browser", OWN})), command("Page.navigate")) is None
    assert OWN not in ALL_SCOPES, "nobody is given it"


def test_extensions_are_refused_unless_they_are_allowed() -> None:
    loading = command("Extensions.loadUnpacked", path="/tmp/a")
    assert "BROWSER_EXTENSIONS" in (ClientRules().refusal(Caller("ann"), loading) or "")
    assert ClientRules(extensions=True).refusal(Caller("ann"), loading) is None
    assert "held_by_human" in (ClientRules(HELD, extensions=True).refusal(Caller("ann"), loading) or "")


@pytest.mark.parametrize(
    "url", ["devtools://devtools/bundled/inspector.html", " DevTools://x", "chrome://inspect/#pages", "chrome:flags", "about:inspect",
            "view-source:chrome://extensions", "chrome:\\\\extensions/", "CHROME:///flags", "ch\nrome://flags"]
)  # fmt: skip
def test_nobody_opens_the_tools_that_would_drive_pages_unseen(url: str) -> None:
    assert "tools" in (refusal(Caller("ann"), command("Page.navigate", url=url)) or "")
    assert "tools" in (refusal(Caller("ann"), command("Target.createTarget", url=url)) or "")


@pytest.mark.parametrize("url", ["https://devtools.example/", "chrome://version", "about:blank", "data:text/html,chrome://flags", "", None])
def test_other_pages_are_opened(url: object) -> None:
    assert refusal(Caller("ann"), command("Page.navigate", url=url)) is None


def test_what_a_client_put_in_force_rests_while_a_person_has_the_pages() -> None:
    assert ClientRules(HELD).rests(Caller("key"))
    assert ClientRules(HELD).rests(Caller("api", frozenset({"browser", OWN})))
    assert ClientRules(HELD).rests(Caller("bob", person=True))
    assert not ClientRules(HELD).rests(Caller("ann", person=True))
    assert not ClientRules(HELD).rests(OWNER)
    assert not ClientRules(Holding(5, "human", "ann", frozenset({"shell"}))).rests(Caller("key"))
    assert ClientRules(Holding(5, "frozen", None, frozenset(), "ann")).rests(Caller("key"))
