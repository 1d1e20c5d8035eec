import os
import socket
from pathlib import Path

from sandbox_server.drivers.ports.socket_holders import holders


def test_a_socket_is_found_with_the_process_that_holds_it() -> None:
    with socket.socket() as held:
        inode = os.readlink(f"/proc/self/fd/{held.fileno()}").removeprefix("socket:[").rstrip("]")

        pid, command = holders()[inode]

    assert pid == os.getpid()
    assert "pytest" in command


def test_of_several_the_first_counts_and_what_may_not_be_seen_is_passed_over(tmp_path: Path) -> None:
    for pid, command in ((20, b"child\0--x"), (3, b"parent\0")):
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "cmdline").write_bytes(command)
        (tmp_path / str(pid) / "fd" / "4").symlink_to("socket:[77]")
        (tmp_path / str(pid) / "fd" / "5").symlink_to("/dev/null")
    (tmp_path / "21").mkdir()
    (tmp_path / "self").mkdir()

    assert holders(str(tmp_path)) == {"77": (3, "parent")}
