import mmap
import os

import pytest

from sandbox_server.drivers.box import mapped_files as module
from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.mapped_files import mapped_files
from tests.boxes import BoxDaemons
from tests.patience import until


@pytest.fixture
def proc() -> int:
    return os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)


def test_only_what_is_mapped_shared_and_to_be_written_is_found(box: BoxDaemons, proc: int) -> None:
    maps = (
        "import mmap, time\n"
        "def area(name, access):\n"
        "    file = open('/home/gem/' + name, 'w+b'); file.truncate(4096); return mmap.mmap(file.fileno(), 4096, access=access)\n"
        "kept = [area('written', mmap.ACCESS_WRITE), area('read', mmap.ACCESS_READ), area('copied', mmap.ACCESS_COPY)]\n"
        "kept.append(area('a line\\nend', mmap.ACCESS_WRITE))\n"
        "open('/home/gem/ready', 'w').close(); time.sleep(600)\n"
    )
    box.out(f'cat > /home/gem/maps.py <<"END"\n{maps}\nEND')
    sock, _ = box.start_process("exec python3 /home/gem/maps.py")
    with sock:
        until(lambda: box.run("test -e /home/gem/ready")[1] == {"exit": 0})
        found = mapped_files(proc)
        assert {"/home/gem/written", "/home/gem/a line\nend"} <= found.paths
        assert not found.paths & {"/home/gem/read", "/home/gem/copied"}
        assert found.has("/home/gem/written", 0)


def test_what_other_processes_than_the_box_s_have_mapped_is_not_looked_at(proc: int, tmp_path: os.PathLike[str]) -> None:
    with open(f"{tmp_path}/mine", "w+b") as file:
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096):
            assert f"{tmp_path}/mine" not in mapped_files(proc).paths


def test_more_than_is_looked_at_is_refused(box: BoxDaemons, proc: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sock, _ = box.start_process("exec sleep 600")
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with sock, pytest.raises(StoreError, match="stop") as refused:
        mapped_files(proc)
    assert refused.value.kind == "resource_exhausted"
