"""DevTools methods by effect."""

from typing import Any

import pytest

from sandbox_server.cdp.effects import acts
from sandbox_server.cdp.wire import Command


def command(method: str, **params: Any) -> Command:
    return Command(1, method, None, {"id": 1, "method": method, "params": params})


@pytest.mark.parametrize("method", ["Page.captureScreenshot", "DOM.getDocument", "Target.setAutoAttach", "Runtime.runIfWaitingForDebugger"])
def test_looking_is_no_act(method: str) -> None:
    assert not acts(command(method))


@pytest.mark.parametrize(
    "method",
    [
        "Input.dispatchMouseEvent",
        "Input.insertText",
        "Page.navigate",
        "Page.handleJavaScriptDialog",
        "Runtime.evaluate",
        "Runtime.callFunctionOn",
        "Target.createTarget",
        "Target.activateTarget",
        "DOM.focus",
        "DOM.setFileInputFiles",
        "Browser.close",
        "Page.bringToFront",
        "Network.setCookie",
        "Fetch.enable",
        "Debugger.pause",
        "Emulation.setDeviceMetricsOverride",
        "Domain.ofTomorrow",
        "",
        "Page",
    ],
)
def test_everything_else_acts_what_is_unknown_too(method: str) -> None:
    assert acts(command(method))


@pytest.mark.parametrize("method", ["Runtime.evaluate", "Debugger.evaluateOnCallFrame"])
def test_a_script_that_may_have_no_effect_only_looks(method: str) -> None:
    assert not acts(command(method, throwOnSideEffect=True))
    assert acts(command(method, throwOnSideEffect="true"))
    assert acts(Command(1, method, None, {"id": 1, "method": method, "params": ["throwOnSideEffect"]}))


@pytest.mark.parametrize(("source", "does"), [("", False), ("//# sourceURL=pptr:internal", False), ("\n// a\n", False), ("//\nx()", True)])
def test_a_script_for_new_documents_acts_unless_there_is_nothing_in_it(source: str, *, does: bool) -> None:
    assert acts(command("Page.addScriptToEvaluateOnNewDocument", source=source)) == does
    assert acts(command("Page.addScriptToEvaluateOnNewDocument"))


@pytest.mark.parametrize("method", ["Runtime.evaluate", "Debugger.evaluateOnCallFrame"])
@pytest.mark.parametrize("more", ["awaitPromise", "userGesture", "replMode", "includeCommandLineAPI", "ofTomorrow"])
def test_a_script_with_what_may_let_it_act_acts(method: str, more: str) -> None:
    assert acts(command(method, throwOnSideEffect=True, **{more: True}))
    assert acts(command(method, throwOnSideEffect=True, **{more: "on"}))
    assert not acts(command(method, throwOnSideEffect=True, **{more: False}))


def test_a_function_acts_even_without_an_effect_as_nothing_ends_one_that_goes_on() -> None:
    assert acts(command("Runtime.callFunctionOn", functionDeclaration="() => 1", objectId="1", throwOnSideEffect=True))


@pytest.mark.parametrize("method", ["Debugger.searchInContent", "Network.searchInResponseBody", "Page.searchInResource"])
def test_searching_acts_with_an_expression_that_the_page_would_match(method: str) -> None:
    assert not acts(command(method, query="a", isRegex=False))
    assert acts(command(method, query="(a+)+$", isRegex=True))


def test_waiting_for_a_promise_acts_as_it_runs_what_the_promise_says() -> None:
    assert acts(command("Runtime.awaitPromise", promiseObjectId="1"))


def test_a_method_that_looks_acts_with_a_parameter_of_tomorrow() -> None:
    assert not acts(command("DOM.getDocument", depth=-1, pierce=True))
    assert acts(command("DOM.getDocument", depth=-1, change=True))


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\u2029"])
def test_a_comment_ends_where_javascript_ends_it(end: str) -> None:
    assert acts(command("Page.addScriptToEvaluateOnNewDocument", source=f"// a{end}steal()"))
