"""The filter of system calls, by running its program on calls as the kernel would, and in a fork."""

import errno
import os
import socket
import struct

import pytest

from sandbox_server.drivers.fence import calls, landlock
from sandbox_server.drivers.fence.calls import ANY_BUT_UNIX, INTERNET, MACHINES, Instruction

ALLOWED = 0x7FFF0000


def decided(program: list[Instruction], number: int, *arguments: int, audit: int = 0xC000003E) -> int:
    """What the program answers to a call: ALLOWED, or an errno (seccomp(2), struct seccomp_data)."""
    looked_at = struct.pack("=IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    value = position = 0
    while True:
        code, yes, no, given = program[position]
        position += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", looked_at, given)
        elif code == 0x06:
            return given if given == ALLOWED else given & 0xFFFF
        else:
            assert code in (0x15, 0x35)
            position += yes if (value == given if code == 0x15 else value >= given) else no


@pytest.mark.parametrize(("audit", "machine"), [(machine.audit, machine) for machine in MACHINES.values()])
def test_only_the_kinds_of_sockets_that_are_named_can_be_made(audit: int, machine: calls.CallNumbers) -> None:
    closed = calls.program(machine, (), unix=False)
    inside = calls.program(machine, INTERNET, unix=True)
    usual = calls.program(machine, ANY_BUT_UNIX, unix=False)
    answers = {
        family: [decided(program, machine.socket, family, audit=audit) for program in (closed, inside, usual)]
        for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_VSOCK)
    }
    assert answers == {
        socket.AF_INET: [errno.EPERM, ALLOWED, ALLOWED],
        socket.AF_UNIX: [errno.EPERM, ALLOWED, errno.EPERM],
        socket.AF_VSOCK: [errno.EPERM, errno.EPERM, ALLOWED],
    }


def test_ways_round_are_closed_and_everything_else_is_allowed() -> None:
    machine = MACHINES["x86_64"]
    program = calls.program(machine, ANY_BUT_UNIX, unix=False)
    assert decided(program, 425) == errno.ENOSYS
    assert decided(program, machine.ioctl, 0, 0x5412) == errno.EPERM
    assert decided(program, machine.ioctl, 0, 0x5412 | 1 << 32) == errno.EPERM
    assert decided(program, machine.ioctl, 0, 0x5413) == ALLOWED
    assert decided(program, 0) == ALLOWED
    assert decided(program, machine.socket | 0x40000000, socket.AF_UNIX) == errno.EPERM
    assert decided(program, 102, 1, audit=0x40000003) == errno.EPERM


def test_the_kernel_takes_the_filter() -> None:
    pid = os.fork()
    if pid == 0:
        try:
            landlock.forbid_new_rights()
            calls.restrict((), unix=False)
            socket.socketpair()[0].close()
            socket.socket(socket.AF_INET)
        except PermissionError:
            os._exit(13)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 13
