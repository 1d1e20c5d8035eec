import os
from pathlib import Path

import pytest

from sandbox_server.features.observe.sampler import Sampler

pytestmark = pytest.mark.anyio


async def test_the_first_sample_already_tells_shares_of_the_processor(tmp_path: Path) -> None:
    sample = await Sampler([str(tmp_path)]).take("off", processes=100_000)
    [own] = [row for row in sample.top_processes if row.pid == os.getpid()]
    assert sample.cgroup.cpu_usage_pct is not None
    assert own.cpu_pct is not None
    assert own.rss_mib == round(own.rss_bytes / 2**20, 1)
    assert sample.disk[0].path == str(tmp_path)
    assert 0 <= sample.disk[0].usage_pct <= 100


async def test_what_is_not_asked_for_is_not_looked_at(tmp_path: Path) -> None:
    sample = await Sampler([str(tmp_path)]).take("capture", processes=0, disk=False)
    assert (sample.mode, sample.top_processes, sample.disk) == ("capture", [], [])
