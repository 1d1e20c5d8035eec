"""DevTools methods by effect."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.cdp.effects import LOOKING, acts
from sandbox_server.cdp.wire import Command

PROTOCOL = Path(os.environ.get("DEVTOOLS_PROTOCOL", "/opt/tandem/devtools-protocol.json"))


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


@pytest.mark.parametrize("method", ["Runtime.evaluate", "Runtime.callFunctionOn"])
def test_a_script_that_may_have_no_effect_only_looks(method: str) -> None:
    assert not acts(command(method, throwOnSideEffect=True))
    assert acts(command(method, throwOnSideEffect="true"))
    assert acts(Command(1, method, None, {"id": 1, "method": method, "params": ["throwOnSideEffect"]}))


@pytest.mark.parametrize(("source", "does"), [("", False), ("//# sourceURL=pptr:internal", False), ("\n// a\n", False), ("//\nx()", True)])
def test_a_script_for_new_documents_acts_unless_there_is_nothing_in_it(source: str, *, does: bool) -> None:
    assert acts(command("Page.addScriptToEvaluateOnNewDocument", source=source)) == does
    assert acts(command("Page.addScriptToEvaluateOnNewDocument"))


def test_every_method_of_the_table_is_one_of_this_browsers() -> None:
    if not PROTOCOL.exists():
        pytest.skip("the protocol's description is in the image")
    domains = json.loads(PROTOCOL.read_text())["domains"]
    known = {f"{domain['domain']}.{each['name']}" for domain in domains for each in domain.get("commands", [])}
    assert LOOKING - known == set()


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\u2029"])
def test_a_comment_ends_where_javascript_ends_a_line(end: str) -> None:
    assert acts(command("Page.addScriptToEvaluateOnNewDocument", source=f"// nothing{end}document.title = 1"))
    assert not acts(command("Page.addScriptToEvaluateOnNewDocument", source=f"// nothing{end}  // nothing{end}"))
