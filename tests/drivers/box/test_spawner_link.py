from pathlib import Path

from sandbox_server.drivers.box.spawner_link import RETRY_SECONDS, SpawnerLink
from sandbox_server.drivers.ipc import descriptor_passing
from tests.boxes import BoxDaemons


def test_without_a_daemon_a_seat_is_empty_and_asks_to_be_tried_again(tmp_path: Path) -> None:
    link = SpawnerLink(str(tmp_path / "none"))
    assert not link.connect()
    assert (link.taken, link.ended, link.fileno(), link.patience) == (False, -1, -1, RETRY_SECONDS)


def test_requests_wait_for_the_daemon(box: BoxDaemons) -> None:
    box.end_spawner()
    box.end_box_daemon(15)
    box.start_spawner()
    with box.request("echo hello > /home/gem/hello") as sock:
        box.start_box_daemon()
        assert "pid" in (descriptor_passing.receive(sock)[0] or {})
        assert descriptor_passing.receive(sock)[0] == {"exit": 0}
    assert box.out("cat /home/gem/hello") == "hello"


def test_a_process_knows_itself_by_the_number_that_is_told(shared_box: BoxDaemons) -> None:
    sock, started = shared_box.start_process("sleep 600")
    with sock:
        assert shared_box.out(f"cat /proc/{started['pid']}/comm") in {"bash", "sleep"}
