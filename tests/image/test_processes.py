"""The product's own processes: what the start shares among them, and that each is back after it was killed."""

import json
from collections.abc import Callable

import pytest

from tests.image.container import Sandbox
from tests.patience import until

type Start = Callable[..., Sandbox]

FORKED = ("mcp", "stream", "cdp")
"""Programs that the API's zygote forks at the start."""
SHARED_KIB = 4000
"""How much memory that is not of files each of them shares at least with another process."""


def process(sandbox: Sandbox, program: str) -> str:
    """The process of a program, or nothing."""
    return sandbox.exec("pgrep", "-o", "-f", f"sandbox_server {program}").stdout.strip()


def command(sandbox: Sandbox, pid: str) -> str:
    """Its command line."""
    return sandbox.exec("sh", "-c", f"tr '\\0' ' ' </proc/{pid}/cmdline").stdout.strip()


@pytest.fixture(scope="module")
def unused(sandbox_with: Start) -> Sandbox:
    """A container in which nobody has done anything."""
    return sandbox_with()


@pytest.mark.parametrize("program", FORKED)
def test_a_program_is_the_supervisors_own_and_shares_what_it_imported(unused: Sandbox, program: str) -> None:
    pid, supervisor = process(unused, program), unused.exec("pgrep", "-P", "1", "-f", "sandbox_server boot").stdout.strip()
    assert unused.exec("sh", "-c", f"cut -d' ' -f4 /proc/{pid}/stat").stdout.strip() == supervisor
    assert unused.exec("stat", "-c", "%U", f"/proc/{pid}").stdout.strip() == "control"
    lines = unused.exec("cat", f"/proc/{pid}/smaps_rollup", user="control").stdout.splitlines()
    kib = {name.rstrip(":"): int(value) for name, value, *_ in map(str.split, lines[1:])}
    assert kib["Anonymous"] - kib["Pss_Anon"] > SHARED_KIB


def test_no_zygote_is_left_once_everything_runs(unused: Sandbox) -> None:
    assert unused.exec("pgrep", "-f", "sandbox-zygote").code == 1


def visited(sandbox: Sandbox) -> list[str]:
    """Where the browser went, by the recorder's files, which are written behind."""
    lines = sandbox.exec("sh", "-c", "cat /run/sandbox-recorder/events/*").stdout.splitlines()
    return [entry["now"] for entry in map(json.loads, lines) if entry["kind"] == "navigation"]


def test_nothing_is_recorded_while_nobody_acts(unused: Sandbox) -> None:
    until(lambda: visited(unused))
    assert visited(unused) == ["about:blank"]
    assert unused.exec("find", "/run/sandbox-recorder/video", "-name", "*.mp4").stdout == ""


def test_the_address_bars_suggestions_have_no_renderer(unused: Sandbox) -> None:
    assert unused.exec("pgrep", "-f", "type=rendere[r].*top-chrome-webui").code == 1
    assert unused.exec("pgrep", "-f", "type=rendere[r]").code == 0


@pytest.mark.parametrize("program", FORKED)
def test_a_program_that_was_killed_is_back_and_the_others_stay(mended: Sandbox, program: str) -> None:
    others = {name: process(mended, name) for name in FORKED if name != program}
    before = process(mended, program)
    mended.exec("kill", "-9", before)

    until(lambda: process(mended, program) not in ("", before))
    until(lambda: mended.answers("/readyz"))
    assert command(mended, process(mended, program)) == f"/opt/venv/bin/python -I -m sandbox_server {program}"
    assert {name: process(mended, name) for name in others} == others
