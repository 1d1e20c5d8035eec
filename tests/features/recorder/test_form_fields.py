"""Which fields of forms are changed: the commands by which pages are watched; the image's test sees it work."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sandbox_server.features.recorder import form_fields
from sandbox_server.features.recorder.form_fields import MAX_NAME, FieldWatch
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Browser:
    """Takes commands and sends events."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.sent: list[tuple[str, str | None]] = []
        self.event: Any = None

    def post(self, method: str, params: Any = None, session: str | None = None) -> int:
        self.sent.append((method, session))
        return 1

    async def command(self, method: str, params: Any = None, session: str | None = None) -> dict[str, Any]:
        self.sent.append((method, session))
        return {}


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    made = Browser()

    @asynccontextmanager
    async def connected(_: str, on_event: Any) -> AsyncIterator[Browser]:
        made.event = on_event
        yield made

    monkeypatch.setattr(form_fields, "connected", connected)
    return made


async def test_every_page_is_watched_and_every_new_document_given_a_voice(browser: Browser) -> None:
    changed: list[str] = []
    watching = asyncio.create_task(FieldWatch("/cdp.sock").watch(changed.append))
    await eventually(lambda: browser.sent)
    browser.event(None, "Target.attachedToTarget", {"sessionId": "s1"})
    assert [method for method, session in browser.sent if session == "s1"] == [
        "Page.enable",
        "Page.addScriptToEvaluateOnNewDocument",
        "Runtime.removeBinding",
        "Runtime.addBinding",
        "Target.setAutoAttach",
    ]
    browser.sent.clear()
    browser.event("s1", "Page.frameNavigated", {})
    assert browser.sent == [("Runtime.removeBinding", "s1"), ("Runtime.addBinding", "s1")]
    assert "Runtime.enable" not in [method for method, _ in browser.sent], "pages notice that"
    browser.event("s1", "Runtime.bindingCalled", {"name": "fieldChanged", "payload": "x" * 500})
    browser.event("s1", "Runtime.bindingCalled", {"name": "other", "payload": "y"})
    assert changed == ["x" * MAX_NAME]
    browser.ended.set()
    async with asyncio.timeout(30):
        await watching
