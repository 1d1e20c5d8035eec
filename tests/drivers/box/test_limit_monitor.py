"""What a lookout sees of a box, and whom it names; limits are set low enough to be met by little."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.drivers.box import limit_monitor as driver
from sandbox_server.drivers.box.attribution import AttributedProcess, EndedProcess, ProcessUse
from sandbox_server.drivers.box.limit_monitor import LimitBreach, LimitMonitor, MonitoredLimits, _has_system, disk, newest_first
from sandbox_server.drivers.box.processes import command_line, inmates
from tests.boxes import BoxDaemons
from tests.patience import until

MANY = MonitoredLimits(10_000, None)
ME = AttributedProcess("bash:me", "cat", 7, 1000)


@pytest.fixture
def control(tmp_path: Path) -> Path:
    """A control group without a limit, of the second version."""
    (tmp_path / "cgroup.controllers").write_text("memory")
    (tmp_path / "memory.current").write_text("1000")
    (tmp_path / "memory.max").write_text("max")
    (tmp_path / "memory.stat").write_text("anon 900")
    (tmp_path / "memory.events").write_text("oom 0\noom_kill 0")
    return tmp_path


def lookout(box: BoxDaemons, control: Path, limits: MonitoredLimits = MANY) -> LimitMonitor:
    return LimitMonitor(str(box.store), limits, str(control))


def look(at: LimitMonitor, box: BoxDaemons) -> list[LimitBreach]:
    at._due = 0.0
    assert box.ask("status")["running"]
    at.look(box.init)
    return at.incidents


@pytest.fixture
def busy(box: BoxDaemons) -> Iterator[BoxDaemons]:
    """A box in which one session has thirty processes."""
    sock, _ = box.start_process("for _ in {1..30}; do sleep 600 & done; wait", session="bash:busy")
    with sock:
        until(lambda: sleeping() >= 30)  # each is a shell at first
        yield box


def sleeping() -> int:
    """How many of its processes run already what they are to run."""
    return sum(command_line(one.pid) == "sleep 600" for one in inmates())


def test_a_quiet_box_has_no_incident_and_the_next_look_waits(box: BoxDaemons, control: Path) -> None:
    at = lookout(box, control)
    assert at.wait() == 0.0
    assert look(at, box) == []
    assert 0 < at.wait() <= driver.LOOK_SECONDS
    at._due = 0.0
    at.look(None)
    assert at.wait() == 0.0  # there was no box to look at


def test_a_limit_that_is_met_is_one_incident_until_it_is_not(busy: BoxDaemons, control: Path, capfd: pytest.CaptureFixture[str]) -> None:
    at = lookout(busy, control, MonitoredLimits(33, None))
    look(at, busy)
    [seen] = look(at, busy)
    assert (seen.kind, seen.culprit and seen.culprit.session, seen.ended) == ("processes", "bash:busy", None)
    assert "of 33 processes" in seen.detail
    [line] = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "incident" in line]
    assert (line["kind"], line["culprit"]["command"]) == ("processes", "sleep 600")
    busy.ask("replace")
    [over] = look(at, busy)
    assert over.ended is not None
    assert over.id == seen.id


def test_an_end_by_the_kernel_for_want_of_memory_names_what_was_large(box: BoxDaemons, control: Path) -> None:
    at = lookout(box, control)
    look(at, box)
    at.attribution.note(EndedProcess(ME, ProcessUse(memory=1 << 30), killed=False))
    (control / "memory.events").write_text("oom 1\noom_kill 1")
    [seen] = look(at, box)
    assert (seen.kind, seen.culprit) == ("memory", ME)
    at.begin_anew()
    assert look(at, box)[0].ended is not None


def test_nobody_of_a_new_box_is_blamed_for_what_was_done_to_the_last(box: BoxDaemons, control: Path) -> None:
    at = lookout(box, control)
    look(at, box)
    (control / "memory.events").write_text("oom 1\noom_kill 1")
    assert look(at, box)[0].culprit is None
    at.begin_anew()
    at.attribution.note(EndedProcess(ME, ProcessUse(memory=1 << 30), killed=False))
    [over] = look(at, box)
    assert (over.culprit, over.ended is None) == (None, False)


def test_who_it_was_may_show_later_but_not_once_it_is_over(box: BoxDaemons, control: Path) -> None:
    (control / "memory.max").write_text("1000")
    at = lookout(box, control, MonitoredLimits(10_000, 1000))
    assert look(at, box)[0].culprit is None
    at.attribution.note(EndedProcess(ME, ProcessUse(memory=1 << 30), killed=False))
    assert look(at, box)[0].culprit == ME
    (control / "memory.stat").write_text("anon 100")
    assert look(at, box)[0].ended is not None


def test_a_session_takes_the_blame_from_the_desktop_where_it_grew_too_fast_to_be_seen(box: BoxDaemons, control: Path) -> None:
    desktop = AttributedProcess(None, "chromium", 8, 991)
    at = lookout(box, control)
    look(at, box)
    at.attribution.note(EndedProcess(desktop, ProcessUse(memory=1 << 28), killed=False))
    (control / "memory.events").write_text("oom 1\noom_kill 2")
    assert look(at, box)[0].culprit == desktop
    at.attribution.note(EndedProcess(ME, ProcessUse(memory=1 << 30), killed=False))
    assert look(at, box)[0].culprit == ME


@pytest.mark.parametrize(("kind", "what", "named"), [("inodes", "system", ME), ("disk", "written", None)])
def test_a_session_takes_the_blame_from_the_desktop_where_time_is_all_there_is_to_go_by(
    box: BoxDaemons, control: Path, monkeypatch: pytest.MonkeyPatch, kind: str, what: str, named: AttributedProcess | None
) -> None:
    desktop = AttributedProcess(None, "chromium", 8, 991)
    at = lookout(box, control)
    monkeypatch.setattr(at, "_see_disk", lambda: iter([(kind, "nothing is free")]))
    at.attribution.note(EndedProcess(desktop, ProcessUse(**{what: 1 << 40}), killed=False))
    assert look(at, box)[0].culprit == desktop
    at.attribution.note(EndedProcess(ME, ProcessUse(**{what: 1 << 41}), killed=False))
    assert look(at, box)[0].culprit == (named or desktop)
    at.attribution.note(EndedProcess(replace(desktop, pid=9), ProcessUse(**{what: 1 << 42}), killed=False))
    assert look(at, box)[0].culprit == (named or desktop)


def test_memory_that_runs_short_is_looked_at_more_often(box: BoxDaemons, control: Path) -> None:
    at = lookout(box, control, MonitoredLimits(10_000, 1200))
    look(at, box)
    assert at.wait() <= driver.HURRY_SECONDS


def test_where_nobody_else_does_the_largest_process_is_ended(box: BoxDaemons, control: Path) -> None:
    sock, _ = box.start_process("exec python3 -c 'x = bytearray(200 << 20); input()' < <(sleep 600)", session="bash:hog")
    at = lookout(box, control, MonitoredLimits(10_000, 100 << 20, enforced=True))
    with sock:
        until(lambda: any("was ended: python3" in one.detail for one in look(at, box)))
    assert at.incidents[-1].culprit
    assert at.incidents[-1].culprit.session == "bash:hog"


def test_a_process_with_very_many_files_is_named(box: BoxDaemons, control: Path) -> None:
    program = "import os; f = [os.open('/dev/null', 0) for _ in range(9000)]; input()"
    sock, _ = box.start_process(f'ulimit -n 10000 && exec python3 -c "{program}" < <(sleep 600)', session="bash:open")
    at = lookout(box, control)
    with sock:
        until(lambda: look(at, box))
    assert (at.incidents[0].kind, at.incidents[0].culprit and at.incidents[0].culprit.session) == ("descriptors", "bash:open")


def test_a_system_that_is_gone_is_seen(box: BoxDaemons, control: Path) -> None:
    at = lookout(box, control)
    box.out("rm /usr/bin/bash")
    at.attribution.note(EndedProcess(ME, ProcessUse(system=1.0), killed=False))
    [seen] = look(at, box)
    assert (seen.kind, seen.culprit) == ("system", ME)
    box.ask("restore", checkpoint=None, who="me", keep=False)
    assert look(at, box)[0].ended is not None


def test_processes_that_are_killed_together_are_told_and_one_is_not(box: BoxDaemons, control: Path) -> None:
    at = lookout(box, control)
    worker = AttributedProcess(None, "tmux", 3, 1000)
    at.attribution.note(EndedProcess(worker, ProcessUse(), killed=True))
    assert look(at, box) == []
    for culprit in (worker, worker, ME):
        at.attribution.note(EndedProcess(culprit, ProcessUse(), killed=True))
    [seen] = look(at, box)
    assert (seen.kind, seen.culprit) == ("killed", ME)


def test_who_was_killed_together_may_be_told_in_two_looks(box: BoxDaemons, control: Path) -> None:
    at, worker = lookout(box, control), AttributedProcess(None, "tmux", 3, 1000)
    for told in ((worker, worker), (ME,)):
        for culprit in told:
            at.attribution.note(EndedProcess(culprit, ProcessUse(), killed=True))
        [seen] = look(at, box)
    assert (seen.kind, seen.culprit, seen.ended) == ("killed", ME, None)
    at.begin_anew()
    assert look(at, box)[0].ended is not None


def test_of_several_sessions_that_were_killed_none_is_blamed(box: BoxDaemons, control: Path) -> None:
    at = lookout(box, control)
    for session in ("bash:a", "bash:b"):
        at.attribution.note(EndedProcess(AttributedProcess(session, "sleep", 3, 1000), ProcessUse(), killed=True))
    assert look(at, box)[0].culprit is None


def test_incidents_are_told_from_the_newest_on_and_the_disk_in_bytes_and_inodes(tmp_path: Path) -> None:
    made = [LimitBreach(number, "disk", "", "", None, 1.0) for number in (1, 2)]
    assert [one["id"] for one in newest_first(made)] == [2, 1]
    room = disk(str(tmp_path))
    assert 0 < room["free_bytes"] <= room["total_bytes"] == os.statvfs(tmp_path).f_blocks * os.statvfs(tmp_path).f_frsize


@pytest.mark.parametrize("link", ["usr", "usr/bin"])
def test_no_link_in_the_box_leads_the_lookout_out_of_it(tmp_path: Path, link: str) -> None:
    (tmp_path / "out/bin").mkdir(parents=True)
    (tmp_path / "out/bash").touch()
    (tmp_path / "out/bin/bash").touch()
    (tmp_path / "box/usr").mkdir(parents=True)
    if link == "usr":
        (tmp_path / "box/usr").rmdir()
    (tmp_path / "box" / link).symlink_to(tmp_path / "out")
    assert not _has_system(str(tmp_path / "box"))
    assert _has_system("/")
