"""What the product waits for its own parts is multiplied by one factor, and nothing else is."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_server import timeouts
from tests.sources import tree_of
from tests.tables import table_test

ROOT = Path(__file__).parent.parent
OURS = "sandbox_server"
SHOW = """
import importlib, json, sys
wanted = json.load(sys.stdin)
print(json.dumps({each: getattr(importlib.import_module(each.rpartition(".")[0]), each.rpartition(".")[2]) for each in wanted}))
"""


def constants() -> dict[str, float]:
    """Every constant that is scaled, by its module's and its own name, with the seconds that its module says."""
    found: dict[str, float] = {}
    for file in sorted((ROOT / OURS).rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for node in tree_of(file).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
                called = node.value
                if isinstance(called.func, ast.Name) and called.func.id == "scaled" and isinstance(called.args[0], ast.Constant):
                    found[f"{module}.{node.targets[0].id}"] = float(str(called.args[0].value))
    return found


def imported(names: list[str], factor: str | None) -> dict[str, Any]:
    """Constants as a process has them that is given a factor."""
    environment = {name: value for name, value in os.environ.items() if name != timeouts.VARIABLE}
    environment |= {} if factor is None else {timeouts.VARIABLE: factor}
    command = [sys.executable, "-c", SHOW]
    done = subprocess.run(command, input=json.dumps(names), env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("given", "factor"), [(None, 1), ("3", 3)])
def test_each_constant_is_what_its_module_says_times_the_factor(given: str | None, factor: float) -> None:
    written = constants()
    assert imported(list(written), given) == {name: seconds * factor for name, seconds in written.items()}


CDP, DRIVERS, FEATURES = f"{OURS}.cdp", f"{OURS}.drivers", f"{OURS}.features"
ORDER = (
    (f"{CDP}.browser_supervisor.START_TIMEOUT", f"{DRIVERS}.browser.browser_client.ANSWER_SECONDS"),
    (f"{CDP}.browser_supervisor.START_TIMEOUT", f"{DRIVERS}.devtools.connection.CONNECT_SECONDS"),
    (f"{CDP}.browser_supervisor.HALT_TIMEOUT", f"{DRIVERS}.browser.browser_client.PROFILE_SECONDS"),
    (f"{CDP}.browser_connection.COMMAND_TIMEOUT", f"{DRIVERS}.devtools.request_gate.HOLDS_SECONDS"),
    (f"{CDP}.private_window.CLOSE_SECONDS", f"{CDP}.private_window.END_SECONDS"),
    (f"{CDP}.private_window.END_SECONDS", f"{FEATURES}.control.lease_keeper.CLOSE_SECONDS"),
    (f"{DRIVERS}.browser.session.ANSWER_SECONDS", f"{DRIVERS}.browser.session.ATTACH_SECONDS"),
    (f"{DRIVERS}.browser.session.ATTACH_SECONDS", f"{DRIVERS}.browser.session.PATIENT_SECONDS"),
    (f"{DRIVERS}.browser.session.PATIENT_SECONDS", f"{DRIVERS}.browser.browser_client.PROFILE_SECONDS"),
    (f"{DRIVERS}.devtools.page_state.PAGE_SECONDS", f"{FEATURES}.box.checkpoint_state.NOTE_SECONDS"),
    (f"{FEATURES}.shell.sessions.NOTE_SECONDS", f"{FEATURES}.box.checkpoint_state.NOTE_SECONDS"),
    (f"{FEATURES}.recorder.snapshot.FIND_SECONDS", f"{FEATURES}.recorder.receipts.LOOK_SECONDS"),
    (f"{DRIVERS}.x11.clipboard_selection.ANSWER_SECONDS", f"{DRIVERS}.x11.clipboard_selection.READ_SECONDS"),
    (f"{DRIVERS}.egress.network_namespace.MAKE_SECONDS", f"{OURS}.egress.daemon_link.ANSWER_SECONDS"),
    (f"{DRIVERS}.egress.network_namespace.MAKE_SECONDS", f"{DRIVERS}.box.daemon.PATIENCE_SECONDS"),
    (f"{DRIVERS}.box.box.END_SECONDS", f"{DRIVERS}.box.client.QUICK_SECONDS"),
    (f"{DRIVERS}.box.box.BUILD_SECONDS", f"{DRIVERS}.box.daemon.PATIENCE_SECONDS"),
    (f"{DRIVERS}.box.client.QUICK_SECONDS", f"{DRIVERS}.box.client.LONG_SECONDS"),
    (f"{DRIVERS}.ipc.connect_with_retry.RESTART_SECONDS", f"{DRIVERS}.clients.mcp_process.ANSWER_SECONDS"),
)
"""What ends within another wait."""


@pytest.mark.parametrize("factor", ["1", "1.5", f"{timeouts.MAX_FACTOR:g}"])
def test_a_wait_ends_within_the_one_that_contains_it_at_every_factor(factor: str) -> None:
    found = imported(sorted({name for pair in ORDER for name in pair}), factor)
    assert [pair for pair in ORDER if found[pair[0]] >= found[pair[1]]] == []


@pytest.mark.parametrize("factor", ["1", f"{timeouts.MAX_FACTOR:g}"])
def test_readyz_answers_within_the_five_seconds_of_who_asks_it(factor: str) -> None:
    name = f"{DRIVERS}.stats.liveness.PING_SECONDS"
    assert 2 <= imported([name], factor)[name] < 5
    assert "--timeout=5s" in next(line for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("HEALTHCHECK --"))


def test_a_wait_for_what_does_not_answer_is_as_long_as_the_factor_says() -> None:
    code = (
        "import asyncio, socket, tempfile, time; from sandbox_server.drivers.stats.liveness import Liveness\n"
        "path = tempfile.mktemp(); hung = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); hung.bind(path); hung.listen()\n"
        "before = time.monotonic(); told = asyncio.run(Liveness({'hung': path}).states()); print(told['hung'], time.monotonic() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {timeouts.VARIABLE: "1.5"}, cwd=ROOT, capture_output=True, text=True, check=True
    )
    reason, _, seconds = done.stdout.rpartition(" ")
    assert reason == "it did not answer within 3 s"
    assert float(seconds) >= 3


@table_test({"least": ("1", 1.0), "fraction": ("1.5", 1.5), "blanks": (" 3 ", 3.0), "most": ("20", 20.0)})
def test_a_factor_is_read(text: str, factor: float) -> None:
    assert timeouts.read_factor(text) == factor


@table_test(("", "abc", "0", "0.99", "20.1", "-3", "nan", "inf", "3x"))
def test_what_is_no_factor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"from 1 to 20"):
        timeouts.read_factor(text)


@pytest.mark.parametrize(
    ("given", "factor", "passed"),
    [
        ("3", 3, {"TIMEOUT_FACTOR": "3"}),
        (" 2.50 ", 2.5, {"TIMEOUT_FACTOR": "2.5"}),
        ("1", 1, {}),
        ("", 1, {}),
        ("abc", 1, {}),
        ("0.5", 1, {}),
    ],
)
def test_a_process_has_the_factor_that_it_was_given_and_passes_it_on(given: str, factor: float, passed: dict[str, str]) -> None:
    names = [f"{OURS}.timeouts.FACTOR", f"{OURS}.timeouts.ENVIRONMENT", f"{OURS}.boot.early_start.ENVIRONMENT"]
    assert list(imported(names, given).values()) == [factor, passed, {"LANG": "C.UTF-8"} | passed]
