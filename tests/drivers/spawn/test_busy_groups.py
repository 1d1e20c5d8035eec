"""Process groups that keep computing lose weight, and nobody else does."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from sandbox_server.drivers.spawn import busy_groups
from sandbox_server.drivers.spawn.busy_groups import BUSY_NICE, LOOKS, BusyGroups
from sandbox_server.drivers.spawn.child_setup import NICE, Account
from tests.patience import until

SECONDS = 0.2
"""Processor time that a look counts as enough in these tests: `SHARE` of a second."""
SPIN = "while :; do :; done"


@pytest.fixture
def started() -> Iterator[Callable[..., int]]:
    """Start a shell command in a group of its own as the agent, with a nice value; gives the group's number."""
    groups: list[subprocess.Popen[bytes]] = []

    def start(command: str, nice: int = NICE) -> int:
        who = {"user": 1000, "group": 1000, "extra_groups": []} if os.geteuid() == 0 else {}
        words = ["nice", "-n", str(nice), "sh", "-c", command]
        groups.append(subprocess.Popen(words, start_new_session=True, **who))  # type: ignore[call-overload] # the words of `who`
        return groups[-1].pid

    yield start
    for one in groups:
        os.killpg(one.pid, signal.SIGKILL)
        one.wait()


@pytest.fixture
def busy() -> BusyGroups:
    return BusyGroups(Account.named("gem") if os.geteuid() == 0 else Account.current())


def nice_of(group: int) -> int:
    return os.getpriority(os.PRIO_PGRP, group)


def seconds_of(group: int) -> float:
    found = busy_groups._groups().get(group)
    return found.seconds if found else 0.0


def look(busy: BusyGroups, group: int) -> None:
    """Look once the group has computed for long enough since the look before, as if a second had passed."""
    before = seconds_of(group)
    until(lambda: seconds_of(group) - before > 2 * SECONDS)
    busy.look(1.0)


def test_a_group_that_keeps_computing_loses_weight_with_all_its_processes(busy: BusyGroups, started: Callable[..., int]) -> None:
    group = started(f"({SPIN}) & {SPIN}")
    until(lambda: nice_of(group) == NICE)
    busy.look(1.0)
    for _ in range(LOOKS - 1):
        look(busy, group)
        assert nice_of(group) == NICE
    look(busy, group)
    until(lambda: nice_of(group) == BUSY_NICE)  # the lowest of its processes


def test_time_of_children_that_have_ended_counts(busy: BusyGroups, started: Callable[..., int]) -> None:
    group = started("while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done")
    busy.look(1.0)
    for _ in range(LOOKS + 1):
        look(busy, group)
    until(lambda: nice_of(group) == BUSY_NICE)


def test_who_paused_between_looks_keeps_its_weight(busy: BusyGroups, started: Callable[..., int]) -> None:
    group = started(SPIN)
    until(lambda: nice_of(group) == NICE)
    busy.look(1.0)
    for _ in range(2 * LOOKS):
        look(busy, group)
        os.killpg(group, signal.SIGSTOP)
        until(lambda: not is_running(group))
        busy.look(1.0)
        busy.look(1.0)
        os.killpg(group, signal.SIGCONT)
    assert nice_of(group) == NICE


def is_running(group: int) -> bool:
    with open(f"/proc/{group}/stat", "rb") as stat:
        return stat.read().rpartition(b")")[2].split()[0] == b"R"


def test_who_sleeps_and_who_has_full_weight_keeps_it(busy: BusyGroups, started: Callable[..., int]) -> None:
    sleeps, ours, lower = started("sleep 600"), started(f"nice -n {NICE} sh -c '{SPIN}' & {SPIN}", 0), started(SPIN, NICE + 2)
    busy.look(1.0)
    for _ in range(LOOKS + 1):
        look(busy, lower)
    until(lambda: nice_of(lower) == BUSY_NICE)
    assert (nice_of(sleeps), nice_of(ours)) == (NICE, 0)


def test_a_look_is_due_every_few_seconds(busy: BusyGroups) -> None:
    assert 0 < busy.keep() <= busy_groups.LOOK_SECONDS
    busy._looked = time.monotonic() - busy_groups.LOOK_SECONDS
    assert busy.keep() == busy_groups.LOOK_SECONDS


def test_a_look_that_takes_long_is_followed_by_a_long_rest(busy: BusyGroups, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.monotonic() + busy_groups.LOOK_SECONDS]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def look_for_a_second(passed: float) -> None:
        now[0] += 1
        busy._looked = now[0]

    monkeypatch.setattr(busy, "look", look_for_a_second)
    assert busy.keep() == pytest.approx(busy_groups.REST)
    now[0] += busy_groups.REST - 1
    assert busy.keep() == pytest.approx(1)
