"""Connections to the outside, as the kernel lists them."""

import socket
from pathlib import Path

from sandbox_server.drivers.snapshots.connections import OuterConnection, outer_connections

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def line(local: str, remote: str, state: str, uid: int = 1000) -> str:
    return f"   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  {uid}        0 13 1 0 0 0 0 -1\n"


def listed(tmp_path: Path, tcp: str, tcp6: str | None = None) -> list[OuterConnection]:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text(HEAD + tcp)
    if tcp6 is not None:
        (tmp_path / "net" / "tcp6").write_text(HEAD + tcp6)
    return outer_connections(str(tmp_path))


def test_who_is_connected_from_outside_is_told(tmp_path: Path) -> None:
    found = listed(tmp_path, line("0200630A:1F90", "0100630A:D431", "01", 990))
    assert found == [OuterConnection("10.99.0.2:8080", "10.99.0.1:54321", 990)]


def test_a_connection_that_is_being_closed_still_counts(tmp_path: Path) -> None:
    assert listed(tmp_path, line("0200630A:1F90", "0100630A:D431", "04"))


def test_listeners_closed_ones_and_the_loopback_do_not_count(tmp_path: Path) -> None:
    rest = line("00000000:1F90", "00000000:0000", "0A") + line("0200630A:1F90", "0100630A:D431", "06")
    assert listed(tmp_path, rest + line("0200630A:1F90", "0100630A:D431", "07") + line("0100007F:1F90", "0100007F:D431", "01")) == []


def test_ipv6_and_ipv4_within_it_are_read(tmp_path: Path) -> None:
    mapped, outside = "0000000000000000FFFF00000200630A", "B80D0120000000000000000001000000"
    loopback = "00000000000000000000000001000000"
    table = line(f"{mapped}:1F90", f"{outside}:0050", "01") + line(f"{loopback}:1F90", f"{loopback}:0050", "01")
    [found] = listed(tmp_path, "", table)
    assert (found.local, found.remote) == ("10.99.0.2:8080", "2001:db8::1:80")


def test_this_kernels_own_table_can_be_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        port = client.getsockname()[1]
        assert not [each for each in outer_connections() if each.local.endswith(f":{port}")]
