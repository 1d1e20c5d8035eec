import asyncio
from typing import Any

import pytest

from sandbox_server.drivers.browser.dialogs import LOOKING, DialogAnswer, PageDialogs
from sandbox_server.drivers.browser.page_events import BrowserNotices

pytestmark = pytest.mark.anyio


class FakePage:
    """A page that opens dialogs."""

    def __init__(self) -> None:
        self.listeners: dict[str, Any] = {}

    def on(self, event: str, listener: Any) -> None:
        self.listeners[event] = listener


class FakeDialog:
    """A dialog that remembers its answer."""

    def __init__(self, kind: str, message: str = "Sure?") -> None:
        self.type = kind
        self.message = message
        self.answered: asyncio.Future[tuple[str, str | None]] = asyncio.get_running_loop().create_future()

    async def accept(self, text: str | None = None) -> None:
        self.answered.set_result(("accepted", text))

    async def dismiss(self) -> None:
        self.answered.set_result(("dismissed", None))


@pytest.fixture
async def page() -> FakePage:
    return FakePage()


async def watching(page: FakePage) -> tuple[PageDialogs, BrowserNotices]:
    notices = BrowserNotices()
    dialogs = PageDialogs(notices)
    await dialogs.watch(page, "target")  # type: ignore[arg-type]
    return dialogs, notices


@pytest.mark.parametrize(
    ("kind", "answer", "said"),
    [
        ("alert", DialogAnswer(), "accepted"),
        ("beforeunload", DialogAnswer(), "accepted"),
        ("confirm", DialogAnswer(), "dismissed"),
        ("prompt", DialogAnswer(), "dismissed"),
        ("confirm", DialogAnswer("accept"), "accepted"),
        ("beforeunload", DialogAnswer("dismiss"), "dismissed"),
    ],
)
async def test_a_dialog_during_a_call_is_answered_as_the_call_says(page: FakePage, kind: str, answer: DialogAnswer, said: str) -> None:
    dialogs, notices = await watching(page)
    dialog = FakeDialog(kind)
    with dialogs.answered("target", answer):
        page.listeners["dialog"](dialog)
        async with asyncio.timeout(30):
            assert (await dialog.answered)[0] == said
    await dialogs.close()
    assert f"{kind} dialog 'Sure?', which was {said}" in (notices.take() or "")


async def test_a_dialog_outside_of_calls_stays_until_one_needs_the_page(page: FakePage) -> None:
    dialogs, _ = await watching(page)
    dialog = FakeDialog("prompt")
    page.listeners["dialog"](dialog)

    assert not await dialogs.settle(DialogAnswer(), "another")
    assert not dialog.answered.done()
    assert await dialogs.settle(DialogAnswer("accept", "me"), "target")
    assert dialog.answered.result() == ("accepted", "me")
    assert not await dialogs.settle(DialogAnswer())


async def test_a_dialog_that_a_person_closed_is_no_longer_there(page: FakePage) -> None:
    dialogs, _ = await watching(page)
    dialog = FakeDialog("confirm")
    page.listeners["dialog"](dialog)
    page.listeners["dialogclosed"](dialog)

    assert not await dialogs.settle(DialogAnswer())


async def test_while_a_person_has_the_pages_who_only_looks_answers_nothing(page: FakePage) -> None:
    held = [False]
    dialogs = PageDialogs(BrowserNotices(), lambda: held[0])
    await dialogs.watch(page, "target")  # type: ignore[arg-type]
    before, during, after = FakeDialog("confirm"), FakeDialog("confirm"), FakeDialog("confirm")
    with dialogs.answered("target", LOOKING):
        page.listeners["dialog"](before)
        async with asyncio.timeout(30):
            await before.answered
        held[0] = True
        page.listeners["dialog"](during)
        assert dialogs.is_open("target")
        assert not await dialogs.settle(LOOKING, "target")
        with dialogs.answered("target", DialogAnswer("accept")):
            page.listeners["dialog"](after)
            async with asyncio.timeout(30):
                assert (await after.answered)[0] == "accepted"
    assert not during.answered.done()
    held[0] = False
    assert await dialogs.settle(LOOKING, "target")
    await dialogs.close()
