"""Finds the program that waits for input from a shell's terminal: by where it sleeps in the kernel, and how it has set the terminal.

The script runs as the agent: the kernel tells root in a container no more. A program that reads from a socket sleeps at the same
place as one that reads from the terminal, so that what it reads from counts, or whether it has a socket where that is not told.
The terminal's modes are read after the program was seen to sleep: a program sets them before it reads.
"""

from dataclasses import dataclass
from typing import Literal

from sandbox_server.core.errors import Failure
from sandbox_server.drivers.shells.proc_fields import FIELDS
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.timeouts import scaled

type InputKind = Literal["line", "hidden", "keys"]

SECONDS = scaled(5.0)
MAX_OUTPUT = 300
_MODES: dict[str, InputKind] = {"icanon echo": "line", "icanon -echo": "hidden", "-icanon echo": "keys", "-icanon -echo": "keys"}
_FIND = f"""{FIELDS}
has_socket() {{
    for descriptor in /proc/"$1"/fd/*; do
        case $(readlink "$descriptor") in socket:*) return 0 ;; esac
    done
    return 1
}}
reads_terminal() {{
    read -r number descriptor rest 2>/dev/null < "/proc/$1/syscall"
    case $descriptor in
        0x*) source=$(readlink "/proc/$1/fd/$((descriptor))") ;;
        *) has_socket "$1" && return 1; source=$(readlink "/proc/$1/fd/0") ;;
    esac
    [ "$source" = "$terminal" ] || [ "$source" = /dev/tty ]
}}
modes() {{
    lines=icanon; shown=echo
    for mode in $(stty -F "$terminal" -a); do
        case $mode in -icanon) lines=-icanon ;; -echo) shown=-echo ;; esac
    done
}}
fields_of "$1" || exit
set -- "$1" $fields
front=$7
[ "$front" -gt 0 ] || exit
terminal=$(readlink "/proc/$1/fd/0") || exit
for entry in /proc/[0-9]*; do
    pid=${{entry#/proc/}}
    fields_of "$pid" || continue
    set -- $fields
    if [ "$3" != "$front" ] || [ "$1" != S ]; then continue; fi
    read -r place 2>/dev/null < "/proc/$pid/wchan"
    case $place in
        wait_woken|n_tty_read*) reads_terminal "$pid" || continue; modes ;;
        *poll*|*select*) [ "$(readlink "/proc/$pid/fd/0")" = "$terminal" ] || continue; modes; [ $lines = -icanon ] || continue ;;
        *) continue ;;
    esac
    echo "$pid $lines $shown"
    exec cat "/proc/$pid/comm"
done
"""


@dataclass(frozen=True, slots=True)
class WaitingProgram:
    """A program that waits for input."""

    pid: int
    program: str
    """Its name, at most 15 bytes, which it chooses itself (proc(5), `comm`)."""
    kind: InputKind
    """What it reads: a line, one that is not shown as a password is not, or single keys."""


async def waiting_program(processes: Processes, shell: int) -> WaitingProgram | None:
    """Find what waits for input from the terminal of the shell with this process id.

    None where nothing does, and where the kernel does not tell, as in gVisor.
    """
    try:
        done = await processes.run(["sh", "-c", _FIND, "sh", str(shell)], cwd="/", timeout=SECONDS, max_output=MAX_OUTPUT)
    except Failure:  # it is asked for what the screen lacks: the screen is shown without it
        return None
    return parse(done.stdout.decode("utf-8", "replace"))


def parse(said: str) -> WaitingProgram | None:
    """Read what the script says; None for nothing and for anything else."""
    first, _, name = said.partition("\n")
    pid, _, modes = first.partition(" ")
    if not pid.isdecimal() or modes not in _MODES:
        return None
    return WaitingProgram(int(pid), name.strip(), _MODES[modes])
