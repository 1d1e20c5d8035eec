import pytest

from sandbox_server.core.diagnosis import Finding, Probe

pytestmark = pytest.mark.anyio


async def test_a_probe_finds_what_it_looks_for_and_has_a_hint() -> None:
    async def look() -> Finding:
        return Finding(None, "it cannot be seen")

    probe = Probe("clock", look, "start a time service")
    found = await probe.look()
    assert (found.holds, probe.hint) == (None, "start a time service")
