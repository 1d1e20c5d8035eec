"""Which components are left out: by the settings, and because the image does not include them."""

from pathlib import Path

import pytest

from sandbox_server.settings import components, load

OF_THE_DESKTOP = {"browser", "desktop", "sound", "stream", "vnc"}


def test_what_has_no_use_without_a_disabled_component_is_left_out_with_it() -> None:
    assert load({"DISABLE_DESKTOP": "true"}).components.left_out == OF_THE_DESKTOP
    assert load({"DISABLE_VNC": "true"}).components.left_out == {"vnc"}


def test_an_image_without_an_x_server_has_no_desktop_whatever_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "X_SERVER", str(tmp_path / "Xvfb"))

    found = load({"DISABLE_MCP": "true", "DISABLE_DESKTOP": "false"}).components

    assert found.left_out == OF_THE_DESKTOP | {"mcp"}
    assert found.desktop_absence == components.Absence(
        "this image has no desktop and no browser", "use the variant `browser` or `full` of the image"
    )


def test_why_there_is_no_desktop_names_what_brings_it_back() -> None:
    disabled = load({"DISABLE_DESKTOP": "true"}).components.desktop_absence
    assert disabled
    assert disabled.hint == "unset DISABLE_DESKTOP"
    assert load({}).components.desktop_absence is None
