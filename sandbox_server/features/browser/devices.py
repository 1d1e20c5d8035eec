"""Device emulation: pages are laid out as on a phone or tablet. This is Chromium's own emulation, not Android."""

from typing import Annotated

from pydantic import Field

from sandbox_server.core import Model
from sandbox_server.drivers.browser.browser_client import BrowserClient

PHONE_AGENT = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Mobile Safari/537.36"
"""The user agent of Chrome on every phone (https://www.chromium.org/updates/ua-reduction)."""


class Device(Model):
    """The emulated device: a size, a touch screen, and a user agent with its client hints.

    The browser stays Chromium on Linux.
    """

    width: Annotated[int, Field(ge=1, le=10_000)] = 412
    """Width of the page in CSS pixels."""
    height: Annotated[int, Field(ge=1, le=10_000)] = 915
    """Height of the page in CSS pixels."""
    scale: Annotated[float, Field(gt=0, le=10)] = 1.0
    """Device pixels per CSS pixel."""
    mobile: bool = True
    """Whether pages are laid out as on a phone: the viewport meta tag applies, and scroll bars overlay the page."""
    touch: bool = True
    """Whether there is a touch screen. The mouse then sends touch events."""
    user_agent: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """The user agent; null is Chrome's on a phone if `mobile`, else the browser's own."""
    platform: Annotated[str, Field(max_length=100)] | None = None
    """The platform in client hints; null is `Android` if `mobile`, else `Linux`."""
    platform_version: Annotated[str, Field(max_length=100)] = ""
    """The platform's version in client hints."""
    model: Annotated[str, Field(max_length=100)] = ""
    """The device's model in client hints."""

    def commands(self, own_agent: str, version: str) -> dict[str, dict[str, object]]:
        """Return the DevTools commands for a page (domain Emulation), in order.

        `version` is Chromium's major version.
        """
        metrics: dict[str, object] = {"width": self.width, "height": self.height, "deviceScaleFactor": self.scale, "mobile": self.mobile}
        commands: dict[str, dict[str, object]] = {
            "Emulation.setDeviceMetricsOverride": metrics,
            "Emulation.setUserAgentOverride": self._agent(own_agent, version),
        }
        if self.touch:
            commands["Emulation.setTouchEmulationEnabled"] = {"enabled": True, "maxTouchPoints": 5}
            commands["Emulation.setEmitTouchEventsForMouse"] = {"enabled": True, "configuration": "mobile" if self.mobile else "desktop"}
        return commands

    def _agent(self, own_agent: str, version: str) -> dict[str, object]:
        platform = self.platform or ("Android" if self.mobile else "Linux")
        brands = [{"brand": "Chromium", "version": version}, {"brand": "Not?A_Brand", "version": "24"}]
        hints = {"platform": platform, "platformVersion": self.platform_version, "architecture": "", "model": self.model}
        return {
            "userAgent": self.user_agent or (PHONE_AGENT.format(version=version) if self.mobile else own_agent),
            "platform": "Linux armv81" if platform == "Android" else platform,
            "userAgentMetadata": {**hints, "mobile": self.mobile, "brands": brands},
        }


class Devices:
    """Applies the last requested device to pages."""

    def __init__(self, owner: BrowserClient) -> None:
        self._owner = owner

    async def emulate(self, device: Device | None) -> None:
        """Emulate a device; None ends the emulation."""
        if device is None:
            await self._owner.emulate(None)
            return
        version = await self._owner.version()
        major = str(version["Browser"]).partition("/")[2].partition(".")[0]
        await self._owner.emulate(device.commands(str(version["User-Agent"]), major))
