"""The frame that a caller names."""

from typing import TYPE_CHECKING

from sandbox_server.core.errors import NotFound

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page


async def frame_of(page: "Page", name: str | None) -> "Frame":
    """The frame of that name or address, else the one in the element that the selector finds; the page's own without a name.

    Raises NotFound.
    """
    if name is None:
        return page.main_frame
    for frame in page.frames:
        if name in (frame.name, frame.url):
            return frame
    element = await page.query_selector(name)
    frame_inside = await element.content_frame() if element else None
    if frame_inside is None:
        raise NotFound(f"there is no frame {name!r}", frame=name)
    return frame_inside
