from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import isolation
from sandbox_server.boot.isolation import NotIsolatedError
from sandbox_server.drivers.box import host_capabilities as box_host
from sandbox_server.drivers.box import isolation as told
from sandbox_server.drivers.box import isolation_probe as box_probe
from sandbox_server.settings import BoxSettings, Paths, Settings

HOST = box_host.Host(root=True, apparmor="", gvisor=False, mapped=False, masked=True, namespaces=0, capabilities=(), landlock=7)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(Settings(), paths=Paths(run=str(tmp_path)), box=BoxSettings(directory=str(tmp_path)))


def probe(monkeypatch: pytest.MonkeyPatch, reason: str | None, *, exposed: bool = False) -> None:
    monkeypatch.setattr(box_probe, "probe", lambda _: reason)
    monkeypatch.setattr(box_host, "look", lambda: HOST)
    monkeypatch.setattr(box_probe, "can_write_host_settings", lambda: exposed)


def test_where_a_box_can_be_made_it_is_the_box(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, None)
    chosen = isolation.choose(settings)
    assert (chosen.level, chosen.reason) == ("box", "")
    assert isolation.announce(settings, chosen) is None
    assert told.read(settings.paths.isolation) == chosen


def test_where_none_can_be_made_it_is_separate_users_and_boot_says_so(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, "EPERM: /proc")
    chosen = isolation.choose(settings)
    assert (chosen.level, chosen.root_withheld) == ("users", False)
    assert chosen.flags == (box_host.PATHS_FLAG,)
    assert "Landlock 7" in chosen.conditions
    assert "EPERM: /proc" in (isolation.announce(settings, chosen) or "")


def test_root_is_withheld_where_it_could_write_the_host_s_settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, "EPERM", exposed=True)
    chosen = isolation.choose(settings)
    assert chosen.root_withheld
    assert "may not become root" in (isolation.announce(settings, chosen) or "")


def test_a_box_that_is_required_and_cannot_be_had_stops_the_boot(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, "EPERM: /proc")
    with pytest.raises(NotIsolatedError, match="EPERM: /proc"):
        isolation.choose(replace(settings, box=replace(settings.box, mode="on")))


def test_a_damaged_volume_stops_the_boot_and_is_left_alone(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    probe(monkeypatch, None)
    state = tmp_path / "state.json"
    state.write_text('{"format": 99, "head": null}')
    with pytest.raises(NotIsolatedError, match=r"another version: format 99\. Put the volume back"):
        isolation.choose(replace(settings, box=replace(settings.box, directory=str(tmp_path))))
    assert state.read_text() == '{"format": 99, "head": null}'


def test_a_box_that_is_not_wanted_is_not_tried_and_not_missed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    probe(monkeypatch, None)
    chosen = isolation.choose(replace(settings, box=replace(settings.box, mode="off")))
    assert (chosen.level, chosen.reason, chosen.root_withheld) == ("users", "BOX=off", False)
    assert chosen.flags == (box_host.PATHS_FLAG, "BOX=auto")
    assert isolation.announce(replace(settings, box=replace(settings.box, mode="off")), chosen) is None


def test_without_root_there_is_nothing_to_choose(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert isolation.choose(settings).level == "none"


def test_in_gvisor_root_is_not_withheld_for_settings_of_gvisors_own_and_no_flag_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe(monkeypatch, "EINVAL", exposed=True)
    monkeypatch.setattr(box_host, "look", lambda: replace(HOST, gvisor=True, masked=False, landlock=0))
    chosen = isolation.choose(settings)
    assert (chosen.level, chosen.root_withheld, chosen.flags) == ("users", False, ())
    said = isolation.announce(settings, chosen) or ""
    assert "gVisor" in said
    assert "how to win it" not in said
