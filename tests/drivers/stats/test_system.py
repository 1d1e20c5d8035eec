import os
import socket
from pathlib import Path

import pytest

from sandbox_server.drivers.stats import system


def test_a_listener_is_among_the_ports_and_a_client_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        ports = system.listening_ports()

        assert server.getsockname()[1] in ports
        assert client.getsockname()[1] not in ports


def test_a_user_that_is_not_written_down_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.has_name()
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert not system.has_name()


def test_the_distribution_has_a_name_and_a_version() -> None:
    release = system.release()

    assert "Debian" in release.name
    assert release.version.isdigit()


def test_the_time_zone_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")

    assert system.timezone() == "Europe/Berlin"


def test_free_space_is_at_most_the_total(tmp_path: Path) -> None:
    room = system.space(str(tmp_path))

    assert 0 <= room.free <= room.total


def test_the_process_knows_its_own_uid() -> None:
    assert system.process_status()["Uid"].split()[0] == str(os.getuid())


def test_a_capability_that_no_container_gets_by_default_is_not_there() -> None:
    assert system.bounding_capability("SYS_ADMIN") is False


def test_a_limit_is_a_number_or_absent() -> None:
    limit = system.cgroup_limit("pids")

    assert limit is None or limit > 0


@pytest.mark.parametrize(("name", "limit", "expected"), [
    ("memory.max", "1048576", 1 << 20),
    ("memory.max", "max", 8 << 20),
    ("memory/memory.limit_in_bytes", "1048576", 1 << 20),
    ("none", "1", 8 << 20),
])  # fmt: skip
def test_the_memory_is_the_machine_s_or_what_the_control_group_allows(tmp_path: Path, name: str, limit: str, expected: int) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:        8192 kB\nMemFree:   1 kB\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / name).write_text(limit)

    assert system.memory_bytes(str(tmp_path), str(tmp_path)) == expected


def test_a_default_route_leads_outside(tmp_path: Path) -> None:
    head = "Iface\tDestination\tGateway\n"
    (tmp_path / "route").write_text(f"{head}eth0\t0011AC00\t00000000\n")
    (tmp_path / "ipv6_route").write_text(f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} ffffffff 1 0 00200200 lo\n")
    assert not system.has_route(str(tmp_path))

    (tmp_path / "ipv6_route").write_text(f"{'0' * 32} 00 {'0' * 32} 00 fe80{'0' * 28} 00000400 1 0 00000003 eth0\n")
    assert system.has_route(str(tmp_path))

    (tmp_path / "ipv6_route").unlink()
    (tmp_path / "route").write_text(f"{head}eth0\t00000000\t010011AC\n")
    assert system.has_route(str(tmp_path))
