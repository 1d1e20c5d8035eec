import pytest

from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.features.box.capabilities import CapabilityReport

pytestmark = pytest.mark.anyio


async def test_the_highest_isolation_level_holds_everything_and_needs_no_flag() -> None:
    told = await CapabilityReport(Isolation("box", "", storage="volume")).get_capabilities()
    assert (told.rung, told.flags, told.agent_may_be_root) == ("box", [], True)
    assert all(one.holds for one in told.capabilities)


async def test_a_lower_isolation_level_says_what_is_lost_why_and_how_to_win_it() -> None:
    told = await CapabilityReport(
        Isolation("users", "EPERM: proc", root_withheld=True, flags=("systempaths=unconfined",), conditions=("covered",))
    ).get_capabilities()
    assert {one.name for one in told.capabilities if one.holds} == {"separate_users"}
    assert told.reason == "EPERM: proc"
    assert not told.agent_may_be_root
    assert (told.flags, told.conditions) == (["systempaths=unconfined"], ["covered"])


async def test_the_lowest_isolation_level_promises_nothing() -> None:
    told = await CapabilityReport(Isolation("none", "not root")).get_capabilities()
    assert not any(one.holds for one in told.capabilities)
