from collections.abc import Sequence

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.drivers.process import Completed, Exit
from sandbox_server.features.doctor import Check, Doctor
from sandbox_server.settings import Settings, load

pytestmark = pytest.mark.anyio


class FakeProcesses:
    """Answers the probes' commands with given exit codes."""

    def __init__(self, codes: dict[str, int]) -> None:
        self._codes = codes

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        return Completed(Exit(self._codes.get(argv[0], 0), None), b"1000\n", b"", False)


class NoProcesses:
    """A spawner that is down."""

    async def run(self, argv: Sequence[str], **_: object) -> Completed:
        raise Unavailable("processes cannot be started now")


async def checks(processes: object, settings: Settings | None = None) -> dict[str, Check]:
    doctor = Doctor(processes, settings or load({"WORKSPACE": "/tmp"}))  # type: ignore[arg-type]
    return {check.name: check for check in (await doctor.doctor()).checks}


async def test_a_guarantee_that_holds_has_no_hint() -> None:
    found = (await checks(FakeProcesses({})))["user_namespaces"]

    assert (found.status, found.hint) == ("holds", None)


async def test_a_lost_guarantee_says_what_would_win_it() -> None:
    found = (await checks(FakeProcesses({"unshare": 1})))["user_namespaces"]

    assert found.status == "lost"
    assert found.hint is not None
    assert "seccomp" in found.hint


async def test_a_browser_without_its_sandbox_is_said_so() -> None:
    assert (await checks(FakeProcesses({})))["browser_sandbox"].status == "holds"
    assert (await checks(FakeProcesses({"unshare": 1})))["browser_sandbox"].status == "lost"
    given_up = (await checks(FakeProcesses({}), load({"BROWSER_NO_SANDBOX": "true", "WORKSPACE": "/tmp"})))["browser_sandbox"]
    assert (given_up.status, "BROWSER_NO_SANDBOX" in given_up.detail) == ("lost", True)


async def test_open_access_is_said_aloud() -> None:
    found = (await checks(FakeProcesses({}), load({"AUTH": "off", "WORKSPACE": "/tmp"})))["authentication"]

    assert (found.status, found.hint) == ("lost", "unset AUTH=off")


async def test_a_probe_that_cannot_look_is_unknown_and_not_lost() -> None:
    found = (await checks(NoProcesses()))["sudo"]

    assert found.status == "unknown"
    assert "processes cannot be started" in found.detail


async def test_the_lost_ones_are_listed_by_name() -> None:
    doctor = Doctor(FakeProcesses({"sudo": 1}), load({"WORKSPACE": "/tmp"}))  # type: ignore[arg-type]

    diagnosis = await doctor.doctor()

    assert "sudo" in diagnosis.lost
    assert "authentication" not in diagnosis.lost
