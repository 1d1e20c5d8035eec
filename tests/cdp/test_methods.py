"""What every method of the protocol does, compared with the protocol's own description."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.cdp.methods import METHODS, effect_of, read

PROTOCOL = Path(os.environ.get("DEVTOOLS_PROTOCOL", "/opt/tandem/devtools-protocol.json"))

UNBOUNDED = {"isRegex", "captureBeyondViewport"}
"""Nothing ends an expression that backtracks in a page, and a picture beyond the viewport lays the page out anew: with one it acts."""


@pytest.fixture(scope="module")
def described() -> dict[str, set[str]]:
    """The parameters of each method that this browser has."""
    if not PROTOCOL.exists():
        pytest.skip("the protocol's description is in the image")
    domains: list[dict[str, Any]] = json.loads(PROTOCOL.read_text("utf-8"))["domains"]
    return {
        f"{domain['domain']}.{command['name']}": {each["name"] for each in command.get("parameters", [])}
        for domain in domains
        for command in domain.get("commands", [])
    }


def test_every_method_of_this_browser_was_judged(described: dict[str, set[str]]) -> None:
    assert described.keys() - METHODS.keys() == set(), "say in sandbox_server/cdp/methods.txt what these do"
    assert METHODS.keys() - described.keys() == set(), "these are gone from the browser"


def test_no_method_that_looks_has_got_another_parameter(described: dict[str, set[str]]) -> None:
    looking = {name: method.parameters for name, method in METHODS.items() if method.effect in {"quiet", "looks"}}
    assert {name: described[name] ^ known for name, known in looking.items() if described[name] - UNBOUNDED != known} == {}


def test_nothing_that_runs_what_a_client_wrote_only_looks() -> None:
    running = {"Runtime.evaluate", "Runtime.callFunctionOn", "Debugger.evaluateOnCallFrame", "DOM.performSearch", "DOM.querySelectorAll"}
    assert {effect_of(name) for name in running} == {"acts"}


def test_nothing_that_holds_a_page_up_or_lays_it_out_anew_only_looks() -> None:
    assert {effect_of(f"{name}") for name in ("HeapProfiler.takeHeapSnapshot", "LayerTree.profileSnapshot", "Page.printToPDF")} == {"acts"}
    assert "captureBeyondViewport" not in METHODS["Page.captureScreenshot"].parameters


def test_what_reaches_past_the_pages_is_refused() -> None:
    assert {effect_of(name) for name in METHODS if name.startswith("Extensions.")} == {"extends"}
    assert {effect_of(name) for name in METHODS if name.startswith(("PWA.", "Tethering."))} == {"refused"}


def test_a_method_of_tomorrow_does_nothing() -> None:
    assert effect_of("Domain.ofTomorrow") is None


@pytest.mark.parametrize("text", ["looks", "sees Page.enable()", "acts Page.a\nacts Page.a", "looks Page.b(x"])
def test_a_line_that_says_nothing_of_a_method_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="malformed line"):
        read(text)
