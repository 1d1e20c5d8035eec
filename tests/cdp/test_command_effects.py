"""DevTools methods by effect."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox_server.cdp.command_effects import acts
from sandbox_server.cdp.messages import DevtoolsCommand
from tests.cdp.test_takeover import OURS, held
from tests.tables import table_test

BrowserServer = Any
BACKTRACKING = "/(a+)+$/.test('a'.repeat(60) + '!')"
NATIVE = "'x'.repeat(2**28).replaceAll('x', 'yy').length"
"""No `timeout` ends this: it is not JavaScript that runs."""
LESS_THAN_THEY_TAKE = 10.0
"""Seconds that twenty looks of a second each are longer than, and a page on a busy machine is not."""


def command(method: str, **params: Any) -> DevtoolsCommand:
    return DevtoolsCommand(1, method, None, {"id": 1, "method": method, "params": params})


@pytest.mark.parametrize("method", ["Page.captureScreenshot", "DOM.getDocument", "Target.setAutoAttach", "Runtime.runIfWaitingForDebugger"])
def test_looking_is_no_act(method: str) -> None:
    assert not acts(command(method))


@table_test(
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
    ]
)
def test_everything_else_acts_what_is_unknown_too(method: str) -> None:
    assert acts(command(method))


@pytest.mark.parametrize("method", ["Runtime.evaluate", "Runtime.callFunctionOn", "Debugger.evaluateOnCallFrame"])
def test_a_script_acts_even_without_an_effect_as_nothing_surely_ends_it(method: str) -> None:
    assert acts(command(method, throwOnSideEffect=True, timeout=100))


@pytest.mark.parametrize(("source", "does"), [("", False), ("//# sourceURL=pptr:internal", False), ("\n// a\n", False), ("//\nx()", True)])
def test_a_script_for_new_documents_acts_unless_there_is_nothing_in_it(source: str, *, does: bool) -> None:
    assert acts(command("Page.addScriptToEvaluateOnNewDocument", source=source)) == does
    assert acts(command("Page.addScriptToEvaluateOnNewDocument"))


@table_test(
    itertools.product(
        ["Runtime.evaluate", "Runtime.callFunctionOn", "Debugger.evaluateOnCallFrame"],
        ["awaitPromise", "userGesture", "replMode", "includeCommandLineAPI", "ofTomorrow"],
    )
)
def test_a_script_with_what_may_let_it_act_acts(method: str, more: str) -> None:
    assert acts(command(method, throwOnSideEffect=True, **{more: True}))
    assert acts(command(method, throwOnSideEffect=True, **{more: "on"}))


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


@pytest.fixture
def page(shared: BrowserServer) -> Iterator[tuple[Any, str, Any, str]]:
    """An agent's client and a person's hands, in the same page."""
    with shared.connect() as agent, shared.connect(headers=OURS) as person:
        target = person.result("Target.createTarget", url="data:text/html,<title>held</title>")["targetId"]
        yield agent, agent.attach(target), person, person.attach(target)
        person.result("Target.closeTarget", targetId=target)


@pytest.mark.parametrize("expression", ["while (true) {}", BACKTRACKING, NATIVE])
@pytest.mark.parametrize("more", [{}, {"timeout": 1000}, {"timeout": 3_600_000}])
def test_a_look_that_never_ends_leaves_the_page_to_the_person(
    shared: BrowserServer, page: tuple[Any, str, Any, str], expression: str, more: dict[str, Any]
) -> None:
    agent, session, person, theirs = page
    root = agent.result("Runtime.evaluate", session, expression="document")["result"]["objectId"]
    with held(shared):
        sent = [agent.send("Runtime.evaluate", session, expression=expression, throwOnSideEffect=True, **more) for _ in range(20)]
        function = f"() => {{ {expression} }}"
        sent.append(agent.send("Runtime.callFunctionOn", session, objectId=root, functionDeclaration=function, throwOnSideEffect=True))
        began = time.monotonic()
        assert person.evaluate("1 + 1", theirs) == 2
        assert time.monotonic() - began < LESS_THAN_THEY_TAKE
        assert {"held_by_human" in str(agent.reply(number)) for number in sent} == {True}
        assert "result" in agent.command("DOM.getDocument", session), "what does look goes on"
    assert agent.evaluate("6 * 7", session) == 42


def test_no_expression_and_no_query_of_a_program_is_matched_in_the_page_of_a_person(
    shared: BrowserServer, page: tuple[Any, str, Any, str]
) -> None:
    agent, session, person, theirs = page
    for domain in ("Page", "DOM", "Debugger"):
        agent.result(f"{domain}.enable", session)
    agent.evaluate(f"'{'a' * 60}!'\n//# sourceURL=long.js", session)
    agent.evaluate("let e = document.body; for (let i = 0; i < 400; i++) e = e.appendChild(document.createElement('div'))", session)
    root = agent.result("DOM.getDocument", session)["root"]["nodeId"]
    while (parsed := agent.event("Debugger.scriptParsed"))["url"] != "long.js":
        pass
    with held(shared):
        sent = [
            agent.send("Debugger.searchInContent", session, scriptId=parsed["scriptId"], query="(a+)+b", isRegex=True),
            agent.send("DOM.querySelectorAll", session, nodeId=root, selector=f":is(y{' > div div' * 12}) div"),
            agent.send("DOM.performSearch", session, query="//*[count(//*[count(//*[count(//*) > 0]) > 0]) > 0]"),
        ]
        began = time.monotonic()
        assert person.evaluate("1 + 1", theirs) == 2
        assert time.monotonic() - began < LESS_THAN_THEY_TAKE
        assert {"held_by_human" in str(agent.reply(number)) for number in sent} == {True}
