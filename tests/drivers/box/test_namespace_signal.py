"""Signals to everything in the process namespace of a real box."""

import os
import signal

from sandbox_server.drivers.box.namespace_signal import signal_all
from tests.boxes import BoxDaemons
from tests.patience import until


def inside(box: BoxDaemons, number: int) -> int:
    """Send one as the daemon does, from the user namespace above the box; how that ended."""
    pid = os.fork()
    if pid == 0:
        os.setns(os.open(f"/proc/{box.init}/ns/user", os.O_RDONLY), os.CLONE_NEWUSER)
        os._exit(0 if signal_all(os.open(f"/proc/{box.init}/ns/pid", os.O_RDONLY), number) else 3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_everything_gets_it_but_the_first_process(box: BoxDaemons) -> None:
    socks = [box.start_process("sleep 600 & sleep 600 & wait")[0] for _ in range(3)]
    assert inside(box, signal.SIGKILL) == 0
    until(lambda: box.ask("status")["processes"] == 0)
    assert box.ask("status")["made"] == 1
    for sock in socks:
        sock.close()


def test_who_has_no_rights_over_the_namespace_is_told_so(box: BoxDaemons) -> None:
    sock, started = box.start_process("sleep 600")
    with sock, open(f"/proc/{box.init}/ns/pid", "rb") as namespace:
        assert not signal_all(namespace.fileno(), signal.SIGKILL)
        assert box.out(f"test -d /proc/{started['pid']} && echo there") == "there"
