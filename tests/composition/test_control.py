"""The control lease, put together."""

from sandbox_server.features.control.revocation_hooks import TellBrowser
from tests.composition.made import first


def test_the_lease_is_there_from_the_first_call_on() -> None:
    control = first().control

    assert "control" in {feature.tag for feature in control.part.features}
    assert control.keeper in control.part.opened


def test_the_settings_are_the_leases() -> None:
    keeper = first(CONTROL_IDLE_SECONDS="7", CONTROL_TAKE="click").control.keeper

    assert (keeper.times.idle, keeper.times.cap, keeper.policy) == (7, 3600, "click")


def test_the_browser_is_told_where_there_is_one() -> None:
    assert [isinstance(each, TellBrowser) for each in first().control.part.opened] == [False, True, False]
    assert not any(isinstance(each, TellBrowser) for each in first(DISABLE_BROWSER="1").control.part.opened)


def test_every_answer_tells_the_epoch() -> None:
    control = first().control

    assert control.stamp() == {"x-control-epoch": str(control.keeper.holding.epoch)}


def test_nobody_is_private_at_first() -> None:
    assert not first().control.private
