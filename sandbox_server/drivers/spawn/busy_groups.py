"""Lowers the weight of the agent's process groups that keep computing.

What the agent starts next, and a terminal that a person types in, then has seven times the weight of what computes. A group
is what one command started, or one job of an interactive shell. Nothing raises a weight again: Linux lets only
CAP_SYS_NICE do that.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import Account

LOOK_SECONDS = 2.0
REST = 20
"""A look is followed by so many times as long as it took: the agent decides how many processes there are to look at."""
SHARE = 0.2
"""Share of one processor, over a look. Eight programs that compete for two processors get a quarter each."""
LOOKS = 2
"""Looks in a row in which a group has that share before its weight is lowered."""
BUSY_NICE = 19
"""The nice value of such a group (sched(7))."""
_GROUP, _TIMES, _NICE = 2, slice(11, 15), 16
"""Words of proc_pid_stat(5) after the name: the group; user and kernel time, its own and of children it has waited for."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class _Group:
    seconds: float = 0.0
    """Processor time of its processes, and of children that they have waited for."""
    nice: int = BUSY_NICE
    """The lowest nice value of its processes."""
    looks: int = 0
    """Looks in a row in which it had the share."""


@dataclass
class BusyGroups:
    """Looks at the processes that this one sees. `account` is the agent; groups with a process of full weight are not the agent's."""

    account: Account
    _before: Mapping[int, _Group] = field(default_factory=dict)
    _looked: float = field(default_factory=time.monotonic)
    _rest: float = LOOK_SECONDS

    def keep(self) -> float:
        """Look, if it is time; return the seconds until the next look."""
        if (passed := (begun := time.monotonic()) - self._looked) < self._rest:
            return self._rest - passed
        self.look(passed)
        self._rest = max(LOOK_SECONDS, REST * (self._looked - begun))
        return self._rest

    def look(self, passed: float) -> None:
        """Lower the weight of groups that have kept computing; `passed` are the seconds since the look before."""
        groups = _groups()
        for number, group in groups.items():
            before = self._before.get(number, _Group())
            group.looks = before.looks + 1 if group.seconds - before.seconds >= SHARE * passed else 0
            if group.looks >= LOOKS and child_setup.NICE <= group.nice < BUSY_NICE:
                self._lower(number)
        self._before, self._looked = groups, time.monotonic()

    def _lower(self, group: int) -> None:
        """Lower a group's weight, as the agent where this process may not: without a box it has no CAP_SYS_NICE."""
        try:
            os.setpriority(os.PRIO_PGRP, group, BUSY_NICE)
        except PermissionError:
            with suppress(OSError):  # no process is left: the next look tries again
                if os.fork() == 0:
                    _lower_as(self.account, group)
        except ProcessLookupError:
            return


def _lower_as(account: Account, group: int) -> None:
    try:
        child_setup.become(account)
        os.setpriority(os.PRIO_PGRP, group, BUSY_NICE)
    finally:
        os._exit(0)


def _groups() -> dict[int, _Group]:
    groups: dict[int, _Group] = {}
    for words in _stats():
        if (number := int(words[_GROUP])) <= 0:  # a group of another namespace, or a process that is gone
            continue
        group = groups.setdefault(number, _Group())
        group.seconds += sum(map(int, words[_TIMES])) / _TICKS
        group.nice = min(group.nice, int(words[_NICE]))
    return groups


def _stats() -> Iterator[list[bytes]]:
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            yield Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
