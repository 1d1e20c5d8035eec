"""The tabs that a person sees."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.cdp.tabs import MAX_TABS, RestorableTabs


@pytest.fixture
def tabs(tmp_path: Path) -> RestorableTabs:
    tabs = RestorableTabs(str(tmp_path / "tabs.json"))
    tabs.context = "default"
    return tabs


def info(target: str, url: str, *, kind: str = "page", context: str = "default") -> dict[str, Any]:
    return {"targetInfo": {"targetId": target, "type": kind, "url": url, "browserContextId": context}}


def test_tabs_are_followed_through_their_lives_in_the_order_they_appeared(tabs: RestorableTabs) -> None:
    assert tabs.take("Target.targetCreated", info("1", "https://a.example/"))
    assert tabs.take("Target.targetCreated", info("2", "https://b.example/"))
    assert tabs.take("Target.targetInfoChanged", info("1", "https://a.example/next"))
    assert tabs.urls == ["https://a.example/next", "https://b.example/"]
    assert tabs.take("Target.targetDestroyed", {"targetId": "1"})
    assert tabs.urls == ["https://b.example/"]
    assert tabs.take("Target.targetDestroyed", {"targetId": "2"})
    assert tabs.empty


def test_a_change_that_is_not_of_address_is_no_change(tabs: RestorableTabs) -> None:
    tabs.take("Target.targetCreated", info("1", "https://a.example/"))
    assert not tabs.take("Target.targetInfoChanged", info("1", "https://a.example/"))
    assert not tabs.take("Target.targetDestroyed", {"targetId": "9"})
    assert not tabs.take("Target.targetCrashed", {"targetId": "1"})


@pytest.mark.parametrize(
    "other",
    [
        info("9", "https://a.example/", context="private"),
        info("9", "https://a.example/sw.js", kind="service_worker"),
        info("9", "devtools://devtools/bundled/inspector.html"),
        info("9", "chrome-extension://abc/background.html"),
        info("9", "chrome://omnibox-popup.top-chrome/omnibox_popup_aim.html"),
    ],
)
def test_what_a_person_does_not_see_as_a_tab_is_none(tabs: RestorableTabs, other: dict[str, Any]) -> None:
    assert not tabs.take("Target.targetCreated", other)
    assert tabs.empty


def test_a_page_that_lived_in_the_process_alone_comes_back_blank(tabs: RestorableTabs) -> None:
    tabs.take("Target.targetCreated", info("1", "blob:https://a.example/0-1"))
    assert tabs.urls == ["about:blank"]


def test_only_the_newest_of_very_many_tabs_are_opened_again(tabs: RestorableTabs) -> None:
    for number in range(MAX_TABS + 5):
        tabs.take("Target.targetCreated", info(str(number), f"https://a.example/{number}"))
    assert (len(tabs.urls), tabs.urls[-1]) == (MAX_TABS, f"https://a.example/{MAX_TABS + 4}")


def test_what_was_written_down_is_there_for_the_next_process(tabs: RestorableTabs, tmp_path: Path) -> None:
    tabs.save(["https://a.example/"])
    assert RestorableTabs(str(tmp_path / "tabs.json")).saved() == ["https://a.example/"]


@pytest.mark.parametrize("content", [None, "", "{", "3"])
def test_a_list_that_cannot_be_read_is_an_empty_one(tabs: RestorableTabs, tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tabs.json").write_text(content)
    assert tabs.saved() == []


@pytest.mark.anyio
async def test_who_waits_for_another_state_of_the_tabs_is_told_of_every_change(tabs: RestorableTabs) -> None:
    before = tabs.state
    waiting = asyncio.create_task(tabs.until_not(before, 30))
    await asyncio.sleep(0)
    tabs.take("Target.targetCreated", info("1", "https://a.example/"))
    async with asyncio.timeout(30):
        await waiting
        await tabs.until_not("another life", 30)
    assert tabs.state != before
    assert tabs.pages == {"1": "https://a.example/"}
    now = tabs.state
    tabs.take("Target.targetInfoChanged", info("1", "https://a.example/"))
    assert tabs.state == now, "nothing has changed"
    await tabs.until_not(now, 0.01)
    tabs.forget()
    assert (tabs.pages, tabs.state != now) == ({}, True)
