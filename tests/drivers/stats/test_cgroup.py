"""Both versions of the kernel's interface say the same in the same words."""

from pathlib import Path

import pytest

from sandbox_server.drivers.stats import cgroup

V2 = {
    "cgroup.controllers": "cpu memory",
    "cpu.stat": "usage_usec 1500\nnr_periods 4\nnr_throttled 1\nthrottled_usec 70\n",
    "memory.current": "4096\n",
    "memory.max": "8192\n",
    "memory.events": "low 0\noom 2\noom_kill 1\n",
    "memory.stat": "anon 1\nfile 2\nshmem 3\nslab 4\n",
}
V1 = {
    "cpuacct/cpuacct.usage": "1500000\n",
    "cpu/cpu.stat": "nr_periods 4\nnr_throttled 1\nthrottled_time 70000\n",
    "memory/memory.usage_in_bytes": "4096\n",
    "memory/memory.limit_in_bytes": "8192\n",
    "memory/memory.failcnt": "2\n",
    "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "memory/memory.stat": "rss 9\ntotal_rss 1\ntotal_cache 2\ntotal_shmem 3\n",
    "memory/memory.kmem.usage_in_bytes": "4\n",
}


def tree(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return str(root)


@pytest.mark.parametrize("files", [V2, V1], ids=["version 2", "version 1"])
def test_every_version_is_read_in_the_same_units(tmp_path: Path, files: dict[str, str]) -> None:
    assert cgroup.snapshot(tree(tmp_path, files)) == cgroup.Cgroup(1500, 4, 1, 70, 4096, 8192, 2, 1, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("files", "name", "none"),
    [(V2, "memory.max", "max\n"), (V1, "memory/memory.limit_in_bytes", "9223372036854771712\n")],
    ids=["version 2", "version 1"],
)
def test_no_limit_is_none(tmp_path: Path, files: dict[str, str], name: str, none: str) -> None:
    assert cgroup.snapshot(tree(tmp_path, files | {name: none})).mem_max_bytes is None


def test_what_is_not_shown_is_none(tmp_path: Path) -> None:
    found = cgroup.snapshot(str(tmp_path))
    assert (found.mem_current_bytes, found.oom_kill, found.memory_slab_bytes) == (0, None, None)


def test_this_container_has_used_its_processor() -> None:
    assert cgroup.snapshot().cpu_usage_usec > 0
