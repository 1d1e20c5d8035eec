"""Memory behind a descriptor that is nobody else's."""

import os

from sandbox_server.drivers.ipc import private_memory


def test_it_is_its_owners_alone_and_is_not_inherited() -> None:
    fd = private_memory.create("test")
    try:
        assert (os.fstat(fd).st_mode & 0o777, os.get_inheritable(fd), os.fstat(fd).st_size) == (0o600, False, 0)
    finally:
        os.close(fd)
