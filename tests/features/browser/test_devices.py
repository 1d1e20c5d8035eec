"""Which DevTools commands a device is."""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox_server.features.browser.devices import Device, Devices

pytestmark = pytest.mark.anyio
OWN = "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0"


class FakeOwner:
    """Remembers what pages are to be given."""

    def __init__(self) -> None:
        self.given: list[dict[str, Any] | None] = []

    async def version(self) -> dict[str, str]:
        return {"User-Agent": OWN, "Browser": "Chrome/156.0.8078.79"}

    async def emulate(self, commands: dict[str, Any] | None) -> None:
        self.given.append(commands)


def test_a_phone_has_a_touch_screen_and_a_phone_s_agent() -> None:
    commands = Device().commands(OWN, "156")
    assert commands["Emulation.setDeviceMetricsOverride"] == {"width": 412, "height": 915, "deviceScaleFactor": 1.0, "mobile": True}
    agent = commands["Emulation.setUserAgentOverride"]
    assert "Chrome/156.0.0.0 Mobile" in str(agent["userAgent"])
    assert agent["userAgentMetadata"] == {
        "platform": "Android",
        "platformVersion": "",
        "architecture": "",
        "model": "",
        "mobile": True,
        "brands": [{"brand": "Chromium", "version": "156"}, {"brand": "Not?A_Brand", "version": "24"}],
    }
    assert commands["Emulation.setEmitTouchEventsForMouse"]["configuration"] == "mobile"


def test_a_desktop_keeps_the_browser_s_agent_and_has_no_touch() -> None:
    commands = Device(mobile=False, touch=False, width=1000, height=700).commands(OWN, "156")
    assert commands["Emulation.setUserAgentOverride"]["userAgent"] == OWN
    assert "Emulation.setTouchEmulationEnabled" not in commands


@pytest.mark.parametrize("wrong", [{"width": 0}, {"height": 100_000}, {"scale": 0}, {"user_agent": ""}])
def test_what_no_device_has_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Device(**wrong)


async def test_the_browser_s_own_version_is_what_is_named() -> None:
    owner = FakeOwner()
    devices = Devices(owner)  # type: ignore[arg-type]
    await devices.emulate(Device())
    await devices.emulate(None)
    assert owner.given == [Device().commands(OWN, "156"), None]
