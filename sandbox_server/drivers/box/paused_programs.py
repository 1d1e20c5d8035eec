"""The agent's programs, which stand still while a person has paused the agent; the desktop and the browser go on.

A program on the desktop is in the desktop's mount namespace, which nothing in the box can enter. The sandbox's own workers execute
nothing, so that their memory belongs to a user namespace that this process has no rights in: nothing the agent starts is like that.
"""

import os
from collections.abc import Mapping

from sandbox_server.drivers.box import processes as box_processes
from sandbox_server.drivers.box.box import DESK, KINDS, Box, start_time
from sandbox_server.drivers.box.processes import Inmate

MAX_NAMES = 20
"""Names of programs that are told."""
_MAX_NAME = 50
_DESKTOP = KINDS.index(f"fd/{DESK}")
"""Where the mount namespace of the desktop is among those of a box; see `box.KINDS`."""


class PausedPrograms:
    """Whether they stand still, and which did before; one for each box."""

    def __init__(self) -> None:
        self.paused = False
        self._before: set[int] = set()
        self._stopped: set[int] = set()
        self._names: list[str] = []

    def pause(self, box: Box, before: set[int] | None = None) -> None:
        """Stop them, unless they are; those that are started later go on. Where all stand still already, `before` are those that did."""
        if self.paused:
            return
        chosen = _agents(box)
        self._before = box_processes.freeze(chosen, box.processes) if before is None else set(before)
        found = [one for one in box_processes.inmates() if chosen(one)]
        self._stopped = {one.pid for one in found if one.pid not in self._before}
        newest = sorted(found, key=lambda one: (_started(one), one.pid), reverse=True)
        self._names = list(dict.fromkeys(map(_name, newest)))
        self.paused = True

    def resume(self) -> None:
        """Let them go on, except those that stood still before."""
        stopped = self._stopped
        if stopped:
            box_processes.thaw(self._before, lambda one: one.pid in stopped)
        self.forget()

    def forget(self) -> None:
        """Know of none: their box has ended."""
        self.paused, self._before, self._stopped, self._names = False, set(), set(), []

    @property
    def stopped(self) -> set[int]:
        """Those that stand still for this."""
        return self._stopped

    def told(self) -> Mapping[str, object]:
        """Say how many stand still, and the names: what was started last first."""
        return {"paused": self.paused, "count": len(self._stopped), "names": self._names[:MAX_NAMES]}


def _agents(box: Box) -> "box_processes.Chosen":
    desktop = os.fstat(box.namespaces[_DESKTOP]).st_ino

    def chosen(one: Inmate) -> bool:
        try:
            return os.stat(f"/proc/{one.pid}/ns/mnt").st_ino != desktop and bool(os.readlink(f"/proc/{one.pid}/exe"))
        except PermissionError:
            return False
        except OSError:
            return True  # it is going, or is a thread of the kernel: a signal does no harm

    return chosen


def _started(one: Inmate) -> int:
    try:
        return start_time(one.pid)
    except OSError:
        return 0  # it has ended


def _name(one: Inmate) -> str:
    command = box_processes.command_line(one.pid)
    return ((command.split(" ", 1)[0].rpartition("/")[2] if command else "") or one.name)[:_MAX_NAME]
