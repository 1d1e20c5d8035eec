from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sandbox_server.core import Conflict, Unavailable
from sandbox_server.core.diagnosis import Finding, Probe
from sandbox_server.drivers.spawn.process import Completed, Exit
from sandbox_server.drivers.stats.liveness import Liveness
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.doctor import Check, Doctor
from sandbox_server.settings import Settings, load
from tests.drivers.x11.conftest import desktop, window_manager, xserver

__all__ = ["desktop", "window_manager", "xserver"]

pytestmark = pytest.mark.anyio


class NoDesktop:
    """A desktop that is down."""

    @property
    def screen(self) -> "NoDesktop":
        return self

    async def size(self) -> tuple[int, int]:
        raise Unavailable("the desktop cannot be reached: it is not running")


class FakeProcesses:
    """Answers the probes' commands with given exit codes."""

    def __init__(self, codes: dict[str, int]) -> None:
        self._codes = codes

    async def run(self, argv: Sequence[str], *, timeout: float, max_output: int, **_: object) -> Completed:
        return Completed(Exit(self._codes.get(argv[0], 0), None), b"1000\n", b"", False)


class NoProcesses:
    """A spawner that is down."""

    async def run(self, argv: Sequence[str], *, timeout: float, max_output: int, **_: object) -> Completed:
        raise Unavailable("processes cannot be started now")


async def checks(processes: object, settings: Settings | None = None, **more: Mapping[str, str]) -> dict[str, Check]:
    doctor = Doctor(processes, settings or load({"WORKSPACE": "/tmp"}), NoDesktop(), Liveness({}), **more)  # type: ignore[arg-type]
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
    in_part = (await checks(FakeProcesses({"unshare": 1})))["browser_sandbox"]
    assert (in_part.status, "Landlock and seccomp-BPF" in in_part.detail, "seccomp=" in str(in_part.hint)) == ("lost", True, True)
    elsewhere = load({"BROWSER_EXECUTABLE_PATH": "/usr/bin/chromium", "WORKSPACE": "/tmp"})
    none = (await checks(FakeProcesses({"unshare": 1}), elsewhere))["browser_sandbox"]
    assert (none.status, "does not start" in none.detail) == ("lost", True)
    given_up = (await checks(FakeProcesses({}), load({"BROWSER_NO_SANDBOX": "true", "WORKSPACE": "/tmp"})))["browser_sandbox"]
    assert (given_up.status, "BROWSER_NO_SANDBOX" in given_up.detail) == ("lost", True)


async def test_probes_of_other_features_are_looked_at_too() -> None:
    async def look() -> Finding:
        return Finding(holds=False, detail="it is not")

    doctor = Doctor(FakeProcesses({}), load({"WORKSPACE": "/tmp"}), NoDesktop(), Liveness({}), [Probe("more", look, "do something")])  # type: ignore[arg-type]
    told = await doctor.doctor()
    assert "more" in told.lost
    assert told.checks[-1].hint == "do something"


async def test_open_access_is_said_aloud() -> None:
    found = (await checks(FakeProcesses({}), load({"AUTH": "off", "WORKSPACE": "/tmp"})))["authentication"]

    assert (found.status, found.hint) == ("lost", "unset AUTH=off")


async def test_a_probe_that_cannot_look_is_unknown_and_not_lost() -> None:
    found = (await checks(NoProcesses()))["sudo"]

    assert found.status == "unknown"
    assert "processes cannot be started" in found.detail


class Refusing(FakeProcesses):
    """A host that enforces no policy."""

    async def run(self, argv: Sequence[str], *, timeout: float, max_output: int, **more: object) -> Completed:
        if "isolation" in more:
            raise Conflict("isolation.network cannot be enforced here")
        return await super().run(argv, timeout=timeout, max_output=max_output)


async def test_a_policy_that_is_refused_is_a_lost_guarantee_and_the_field_is_named() -> None:
    found = (await checks(Refusing({})))["isolation"]

    assert found.status == "lost"
    assert "isolation.network" in found.detail
    assert found.hint is not None
    assert (await checks(FakeProcesses({})))["isolation"].status == "holds"


async def test_the_lost_ones_are_listed_by_name() -> None:
    doctor = Doctor(FakeProcesses({"sudo": 1}), load({"WORKSPACE": "/tmp"}), NoDesktop(), Liveness({}))  # type: ignore[arg-type]

    diagnosis = await doctor.doctor()

    assert "sudo" in diagnosis.lost
    assert "authentication" not in diagnosis.lost


async def test_a_desktop_that_is_down_is_lost_and_one_that_was_left_out_is_not_looked_for() -> None:
    found = (await checks(FakeProcesses({})))["desktop"]
    assert (found.status, found.detail) == ("lost", "the desktop cannot be reached: it is not running")

    without = await checks(FakeProcesses({}), load({"DISABLE_DESKTOP": "true", "WORKSPACE": "/tmp"}))
    for name in ("desktop", "browser_sandbox", "untrusted_programs"):
        left_out = without[name]
        assert (left_out.status, left_out.detail) == ("unknown", "the desktop was left out, and the browser with it")
        assert left_out.hint == "unset DISABLE_DESKTOP"


async def test_the_window_manager_of_the_desktop_is_named(desktop: Desktop, window_manager: None) -> None:
    doctor = Doctor(FakeProcesses({}), load({"WORKSPACE": "/tmp"}), desktop, Liveness({}))  # type: ignore[arg-type]
    [found] = [check for check in (await doctor.doctor()).checks if check.name == "desktop"]
    assert (found.status, found.detail) == ("holds", "3840x2160 pixels, windows managed by Openbox")


async def test_a_desktop_without_a_window_manager_is_lost(desktop: Desktop) -> None:
    doctor = Doctor(FakeProcesses({}), load({"WORKSPACE": "/tmp"}), desktop, Liveness({}))  # type: ignore[arg-type]
    [found] = [check for check in (await doctor.doctor()).checks if check.name == "desktop"]
    assert (found.status, found.detail) == ("lost", "3840x2160 pixels, windows managed by nobody")


async def test_what_programs_of_the_agent_may_do_to_others_windows_is_said() -> None:
    class OtherUser(FakeProcesses):
        async def run(self, argv: Sequence[str], **more: object) -> Completed:
            return Completed(Exit(0, None), b"4242\n", b"", False)

    found = (await checks(OtherUser({})))["untrusted_programs"]
    assert (found.status, "not prevented" in found.detail) == ("holds", True)
    for variable, status in (("X_TRUST_SHELLS", "lost"), ("DISABLE_DESKTOP", "unknown")):
        assert (await checks(OtherUser({}), load({variable: "true", "WORKSPACE": "/tmp"})))["untrusted_programs"].status == status


async def test_a_daemon_that_does_not_answer_is_named(tmp_path: Path) -> None:
    doctor = Doctor(FakeProcesses({}), load({"WORKSPACE": "/tmp"}), NoDesktop(), Liveness({"spawner": f"{tmp_path}/none"}))  # type: ignore[arg-type]
    found = next(check for check in (await doctor.doctor()).checks if check.name == "daemons")
    assert (found.status, found.detail) == ("lost", "spawner: not started")


class Showing:
    """Lets the agent read this of the first process."""

    def __init__(self, environ: bytes | None) -> None:
        self._environ = environ

    async def run(self, argv: Sequence[str], **more: object) -> Completed:
        if argv[0] != "cat":
            return Completed(Exit(0, None), b"1000\n", b"", False)
        return Completed(Exit(1 if self._environ is None else 0, None), self._environ or b"", b"", False)


@pytest.mark.parametrize(
    ("environ", "given", "status", "said"),
    [
        (None, {"SANDBOX_API_KEY": "k"}, "holds", "its own programs alone"),
        (b"LANG=C\0", {}, "holds", "none was given a secret"),
        (b"LANG=C\0", {"SANDBOX_API_KEY": "k"}, "lost", "SANDBOX_API_KEY of what the engine starts"),
        (b"LANG=C\0SANDBOX_API_KEY=k\0", {"SANDBOX_API_KEY": "k"}, "lost", "SANDBOX_API_KEY in the environment of the first process"),
    ],
    ids=["hidden", "shown", "engine", "first"],
)
async def test_secrets_in_environments_that_the_agent_reads_are_named(
    environ: bytes | None, given: dict[str, str], status: str, said: str
) -> None:
    found = (await checks(Showing(environ), load({"WORKSPACE": "/tmp", **given})))["environments"]
    assert (found.status, said in found.detail, "=k" in found.detail) == (status, True, False)


async def test_what_nothing_makes_hold_has_its_reason_and_no_hint() -> None:
    found = await checks(FakeProcesses({"unshare": 1}), irremediable={"user_namespaces": "why"})
    assert (found["user_namespaces"].detail, found["user_namespaces"].hint) == ("why", None)
    assert found["sudo"].hint is None
