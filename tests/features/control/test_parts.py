"""Control, put together."""

from pathlib import Path

from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.control.parts import ControlParts, control_of
from sandbox_server.features.control.revocation_hooks import TellBrowser
from sandbox_server.settings.control import Control


class Owner:
    async def control(self, holding: dict[str, object]) -> None:
        raise AssertionError("nothing is told before it is opened")

    async def open_fresh(self, person: str, url: str) -> None:
        raise AssertionError("nobody asked for a window")

    async def close_fresh(self) -> None:
        raise AssertionError("nobody has a window")


def parts(folder: Path, owner: Owner | None) -> ControlParts:
    return control_of(JsonFile(str(folder / "c.json")), Control(idle=7, take="click"), owner)


def test_the_settings_are_the_leases(tmp_path: Path) -> None:
    driving = parts(tmp_path, None).driving
    assert (driving.times.idle, driving.times.cap, driving.policy) == (7, 3600, "click")


def test_the_browser_is_told_where_there_is_one(tmp_path: Path) -> None:
    assert [isinstance(each, TellBrowser) for each in parts(tmp_path, Owner()).opened] == [True, False]
    assert len(parts(tmp_path, None).opened) == 1


def test_every_answer_tells_the_epoch(tmp_path: Path) -> None:
    assert parts(tmp_path, None).stamp() == {"x-control-epoch": "1"}
