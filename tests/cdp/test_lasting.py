"""What one client has put in force, and how it is taken off and put back."""

import pytest

from sandbox_server.cdp import lasting as kept
from sandbox_server.cdp.lasting import Added, Lasting
from sandbox_server.cdp.wire import Command

PAGE, OTHER = "A" * 32, "B" * 32


def send(lasting: Lasting, method: str, session: str = PAGE, **params: object) -> None:
    lasting.note(session, Command(1, method, session, {"params": params}))


def test_the_latest_of_each_is_taken_off_and_put_back() -> None:
    lasting = Lasting()
    send(lasting, "Network.setExtraHTTPHeaders", headers={"a": "1"})
    send(lasting, "Network.setExtraHTTPHeaders", headers={"a": "2"})
    send(lasting, "Page.setBypassCSP", OTHER, enabled=True)
    send(lasting, "Page.navigate", url="https://a.example/")
    assert sorted(lasting.take_off()) == [
        (PAGE, "Network.setExtraHTTPHeaders", {"headers": {}}),
        (OTHER, "Page.setBypassCSP", {"enabled": False}),
    ]
    assert sorted(lasting.put_back()) == [
        (PAGE, "Network.setExtraHTTPHeaders", {"headers": {"a": "2"}}),
        (OTHER, "Page.setBypassCSP", {"enabled": True}),
    ]


def test_what_the_client_takes_off_itself_is_not_put_back() -> None:
    lasting = Lasting()
    send(lasting, "Emulation.setDeviceMetricsOverride", width=1, height=1, deviceScaleFactor=1, mobile=True)
    send(lasting, "Emulation.clearDeviceMetricsOverride")
    send(lasting, "Fetch.enable", patterns=[])
    send(lasting, "Fetch.disable")
    for name in ("a", "b"):
        send(lasting, "Runtime.addBinding", name=name)
    send(lasting, "Runtime.removeBinding", name="a")
    assert lasting.put_back() == [(PAGE, "Runtime.addBinding", {"name": "b"})]
    assert lasting.take_off() == [(PAGE, "Runtime.removeBinding", {"name": "b"})]


def test_pauses_are_skipped_and_breakpoints_do_not_count() -> None:
    lasting = Lasting()
    send(lasting, "Debugger.enable")
    send(lasting, "Debugger.setBreakpointByUrl", lineNumber=1, condition="steal()")
    assert {method for _, method, _ in lasting.take_off()} == {
        "Debugger.resume",
        "Debugger.setSkipAllPauses",
        "Debugger.setBreakpointsActive",
    }
    assert (PAGE, "Debugger.setBreakpointsActive", {"active": True}) in lasting.put_back()
    send(lasting, "Debugger.disable")
    assert lasting.take_off() == []


def test_a_download_folder_that_was_never_changed_is_left_alone() -> None:
    lasting = Lasting()
    send(lasting, "Browser.setDownloadBehavior", behavior="default", eventsEnabled=True)
    assert lasting.take_off() == []
    send(lasting, "Browser.setDownloadBehavior", behavior="allow", downloadPath="/tmp/a")
    assert lasting.take_off() == [(PAGE, "Browser.setDownloadBehavior", {"behavior": "default"})]
    send(lasting, "Browser.setDownloadBehavior", behavior="default")
    assert lasting.take_off() == []


def test_scripts_go_by_the_name_that_chromium_knows_and_come_back_under_the_one_that_the_client_knows() -> None:
    lasting = Lasting()
    lasting.added(PAGE, "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"}, "1")
    assert lasting.take_off() == [(PAGE, "Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"})]
    assert lasting.take_off() == []
    assert lasting.scripts() == [Added(PAGE, "1", "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"})]
    assert lasting.readded(PAGE, "1", "7")
    assert lasting.scripts() == []
    assert lasting.removed(PAGE, "1") == "7"
    assert not lasting.readded(PAGE, "1", "8"), "the client has removed it"
    assert lasting.removed(PAGE, "unknown") == "unknown"


def test_what_has_no_way_back_ends_with_its_session() -> None:
    lasting = Lasting()
    send(lasting, "Emulation.setHardwareConcurrencyOverride", hardwareConcurrency=3)
    assert lasting.ending == {PAGE}
    lasting.forget(PAGE)
    assert lasting.ending == set()


def test_a_session_that_puts_too_much_in_force_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_KEPT", 2)
    lasting = Lasting()
    for name in ("a", "b", "c"):
        send(lasting, "Runtime.addBinding", name=name)
    assert lasting.ending == {PAGE}
    lasting.added(OTHER, "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"}, "1")
    assert lasting.ending == {PAGE, OTHER}


def test_half_a_surrogate_pair_is_kept_as_any_other_name() -> None:
    lasting = Lasting()
    send(lasting, "Runtime.addBinding", name="\ud83d")
    assert lasting.take_off() == [(PAGE, "Runtime.removeBinding", {"name": "\ud83d"})]


def test_a_session_that_ended_is_forgotten() -> None:
    lasting = Lasting()
    send(lasting, "Page.setBypassCSP", enabled=True)
    lasting.added(PAGE, "Page.addScriptToEvaluateOnNewDocument", {"source": "a()"}, "1")
    lasting.forget(PAGE)
    assert (lasting.take_off(), lasting.put_back(), lasting.scripts()) == ([], [], [])
