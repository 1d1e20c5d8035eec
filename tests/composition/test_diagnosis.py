"""How the whole machine is."""

from sandbox_server.composition.diagnosis import build_diagnosis
from sandbox_server.composition.machine import build_machine
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.settings import load


def test_the_measuring_is_opened_and_the_checks_need_nothing() -> None:
    part = build_diagnosis(build_machine(load({})), Desktop(":99"))

    assert [type(feature).__name__ for feature in part.features] == ["Doctor", "Observe"]
    assert [type(each).__name__ for each in part.opened] == ["Observe"]
