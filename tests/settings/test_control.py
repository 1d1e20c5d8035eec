"""The variables of control."""

import pytest

from sandbox_server.settings import BadSettings, Settings, load


def test_the_defaults_let_nobody_keep_control_for_ever() -> None:
    control = Settings().control
    assert (control.take, control.idle, control.countdown, control.cap, control.lost) == ("implicit", 600, 30, 3600, 30)


@pytest.mark.parametrize(("name", "value"), [("TAKE", "always"), ("IDLE_SECONDS", "0"), ("MAX_SECONDS", "never"), ("LOST_SECONDS", "-1")])
def test_what_makes_no_sense_stops_the_boot(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=f"CONTROL_{name}"):
        load({f"CONTROL_{name}": value})
