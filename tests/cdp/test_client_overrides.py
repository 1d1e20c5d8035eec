"""What one client has put in force, and how it is taken off and put back."""

import pytest

from sandbox_server.cdp import client_overrides as kept
from sandbox_server.cdp.client_overrides import Added, ClientOverrides
from sandbox_server.cdp.messages import DevtoolsCommand

PAGE, OTHER = "A" * 32, "B" * 32


def send(overrides: ClientOverrides, method: str, session: str = PAGE, **params: object) -> None:
    overrides.note(session, DevtoolsCommand(1, method, session, {"params": params}))


def test_the_latest_of_each_is_taken_off_and_put_back() -> None:
    overrides = ClientOverrides()
    send(overrides, "Network.setExtraHTTPHeaders", headers={"a": "1"})
    send(overrides, "Network.setExtraHTTPHeaders", headers={"a": "2"})
    send(overrides, "Page.setBypassCSP", OTHER, enabled=True)
    send(overrides, "Page.navigate", url="https://a.example/")
    assert sorted(overrides.take_off()) == [
        (PAGE, "Network.setExtraHTTPHeaders", {"headers": {}}),
        (OTHER, "Page.setBypassCSP", {"enabled": False}),
    ]
    assert sorted(overrides.put_back()) == [
        (PAGE, "Network.setExtraHTTPHeaders", {"headers": {"a": "2"}}),
        (OTHER, "Page.setBypassCSP", {"enabled": True}),
    ]


def test_what_the_client_takes_off_itself_is_not_put_back() -> None:
    overrides = ClientOverrides()
    send(overrides, "Emulation.setDeviceMetricsOverride", width=1, height=1, deviceScaleFactor=1, mobile=True)
    send(overrides, "Emulation.clearDeviceMetricsOverride")
    send(overrides, "Fetch.enable", patterns=[])
    send(overrides, "Fetch.disable")
    for name in ("a", "b"):
        send(overrides, "Runtime.addBinding", name=name)
    send(overrides, "Runtime.removeBinding", name="a")
    assert overrides.put_back() == [(PAGE, "Runtime.addBinding", {"name": "b"})]
    assert overrides.take_off() == [(PAGE, "Runtime.removeBinding", {"name": "b"})]


def test_pauses_are_skipped_and_breakpoints_do_not_count() -> None:
    overrides = ClientOverrides()
    send(overrides, "Debugger.enable")
    send(overrides, "Debugger.setBreakpointByUrl", lineNumber=1, condition="steal()")
    assert {method for _, method, _ in overrides.take_off()} == {
        "Debugger.resume",
        "Debugger.setSkipAllPauses",
        "Debugger.setBreakpointsActive",
    }
    assert (PAGE, "Debugger.setBreakpointsActive", {"active": True}) in overrides.put_back()
    send(overrides, "Debugger.disable")
    assert overrides.take_off() == []


def test_a_download_folder_that_was_never_changed_is_left_alone() -> None:
    overrides = ClientOverrides()
    send(overrides, "Browser.setDownloadBehavior", behavior="default", eventsEnabled=True)
    assert overrides.take_off() == []
    send(overrides, "Browser.setDownloadBehavior", behavior="allow", downloadPath="/tmp/a")
    assert overrides.take_off() == [(PAGE, "Browser.setDownloadBehavior", {"behavior": "default"})]
    send(overrides, "Browser.setDownloadBehavior", behavior="default")
    assert overrides.take_off() == []


def test_scripts_go_by_the_name_that_chromium_knows_and_come_back_under_the_one_that_the_client_knows() -> None:
    overrides = ClientOverrides()
    overrides.added(PAGE, "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"}, "1")
    assert overrides.take_off() == [(PAGE, "Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"})]
    assert overrides.take_off() == []
    assert overrides.scripts() == [Added(PAGE, "1", "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"})]
    assert overrides.readded(PAGE, "1", "7")
    assert overrides.scripts() == []
    assert overrides.removed(PAGE, "1") == "7"
    assert not overrides.readded(PAGE, "1", "8"), "the client has removed it"
    assert overrides.removed(PAGE, "unknown") == "unknown"


def test_what_has_no_way_back_ends_with_its_session() -> None:
    overrides = ClientOverrides()
    send(overrides, "Emulation.setHardwareConcurrencyOverride", hardwareConcurrency=3)
    assert overrides.ending == {PAGE}
    overrides.forget(PAGE)
    assert overrides.ending == set()


def test_a_session_that_puts_too_much_in_force_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_KEPT", 2)
    overrides = ClientOverrides()
    for name in ("a", "b", "c"):
        send(overrides, "Runtime.addBinding", name=name)
    assert overrides.ending == {PAGE}
    overrides.added(OTHER, "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"}, "1")
    assert overrides.ending == {PAGE, OTHER}


def test_half_a_surrogate_pair_is_kept_as_any_other_name() -> None:
    overrides = ClientOverrides()
    send(overrides, "Runtime.addBinding", name="\ud83d")
    assert overrides.take_off() == [(PAGE, "Runtime.removeBinding", {"name": "\ud83d"})]


def test_a_session_that_ended_is_forgotten() -> None:
    overrides = ClientOverrides()
    send(overrides, "Page.setBypassCSP", enabled=True)
    overrides.added(PAGE, "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"}, "1")
    overrides.forget(PAGE)
    assert (overrides.take_off(), overrides.put_back(), overrides.scripts()) == ([], [], [])
