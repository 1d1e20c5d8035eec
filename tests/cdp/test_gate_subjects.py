"""What the gate of requests is about: how that is kept, and which requests it is."""

from pathlib import Path

import pytest

from sandbox_server.cdp.request_decisions import RequestDecisions
from sandbox_server.cdp.request_gate import READS, SUBJECTS, RequestGate, patterns_of, subjects_of
from sandbox_server.core.control import Holding
from sandbox_server.drivers.storage.json_file import JsonFile
from tests.threads import Held, left_in_the_middle


def made(file: JsonFile, *, configured: bool) -> frozenset[str]:
    return RequestGate(None, None, file, configured=configured).subjects  # type: ignore[arg-type] # not used


def test_until_the_api_has_told_everything_that_is_configured_or_unknown_is_held_up(tmp_path: Path) -> None:
    file = JsonFile(str(tmp_path / "kept.json"))
    assert (made(file, configured=False), made(file, configured=True)) == (frozenset(), SUBJECTS)
    file.write(["submit", "other"])
    assert made(file, configured=True) == {"submit"}
    for broken in ("{", "3"):
        (tmp_path / "kept.json").write_text(broken)
        assert made(file, configured=False) == SUBJECTS


def test_only_what_rules_are_about_is_paused() -> None:
    def kinds(*subjects: str) -> set[str]:
        return {each["resourceType"] for each in patterns_of(frozenset(subjects))}

    assert (kinds(), kinds("navigation")) == (set(), {"Document"})
    assert kinds("submit") == kinds("submit", "navigation") == {"Document", "XHR", "Fetch", "Ping", "CSPViolationReport", "Other"}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_form_is_a_page_and_data(method: str) -> None:
    def found(kind: str) -> set[str]:
        return set(subjects_of({"resourceType": kind, "request": {"url": "https://a.example/", "method": method}}))

    data = set() if method in READS else {"submit"}
    assert (found("Document"), found("XHR")) == ({"navigation"} | data, data)


@pytest.mark.anyio
async def test_who_leaves_while_the_subjects_are_kept_lets_nobody_write_beside_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = JsonFile(str(tmp_path / "kept.json"))
    gate, held = RequestGate(RequestDecisions(), Holding, file, configured=False), Held(file.write)
    monkeypatch.setattr(file, "write", held)
    await left_in_the_middle(gate.change(frozenset({"submit"})), gate.change(frozenset({"navigation"})), held)
    assert (file.read(), gate.in_force) == (["navigation"], ["navigation"])
