import re

import pytest

from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_clicks_reach_elements_and_points(pages: Pages) -> None:
    await pages.visit("/canvas")
    box = await pages.js("(() => { const {x, y} = c.getBoundingClientRect(); return [x, y] })()")
    await pages("POST page/click", x=box[0] + 30, y=box[1] + 40)
    by_point = await pages.title()
    await pages("POST page/click", selector="#c")

    assert by_point == "30,40"
    assert await pages.title() == "50,50"


async def test_a_double_click_counts_and_a_right_click_is_one(pages: Pages) -> None:
    await pages.visit("/canvas")
    await pages.js("c.ondblclick = () => { document.title = 'double' }; c.oncontextmenu = () => { document.title = 'menu' }; null")
    await pages("POST page/click", selector="#c", click_count=2)
    twice = await pages.title()
    await pages("POST page/click", selector="#c", button="right")

    assert (twice, await pages.title()) == ("double", "menu")


async def test_shadow_roots_are_clicked_into(pages: Pages) -> None:
    await pages.visit("/shadow")
    await pages("POST page/click", selector="x-card button")

    assert await pages.title() == "pressed"


@pytest.mark.parametrize("frame", ["inner", "iframe"])
async def test_a_frame_is_named_or_found(pages: Pages, frame: str) -> None:
    await pages.visit("/frames")
    await pages("POST page/click", selector="button", frame=frame)

    assert await pages.title() == "from the frame"


async def test_what_is_not_there_is_not_found_and_what_is_covered_is_a_conflict(pages: Pages) -> None:
    await pages.visit("/covered")
    missing = await pages.fails("POST page/click", selector="#nothing", timeout=0.5)
    covered = await pages.fails("POST page/click", selector="button", timeout=3)
    frame = await pages.fails("POST page/click", selector="button", frame="nowhere")
    unreadable = await pages.fails("POST page/click", selector="a[[")

    assert (missing.status, covered.status, frame.status, unreadable.status) == (404, 409, 404, 400)
    assert "cover" in covered.message


async def test_fields_that_make_no_sense_are_refused(pages: Pages) -> None:
    assert "give one of selector, index, or x and y" in await pages.refuses("POST page/click")
    assert "x and y go together" in await pages.refuses("POST page/click", x=1)
    assert re.search(r"the page's window has \d+x\d+ pixels", await pages.refuses("POST page/click", x=100_000, y=1))
    assert "there is no key 'Nokey'" in await pages.refuses("POST page/press_key", key="Nokey")
    assert "there is no key 'hyper'" in await pages.refuses("POST page/hot_key", keys=["hyper", "c"])
    assert "keys" in await pages.refuses("POST page/hot_key", keys=[])
    assert "timeout" in await pages.refuses("POST page/click", selector="a", timeout=0)
    assert "more than 300 s" in await pages.refuses("POST page/type", text="x" * 100, delay=10_000)


async def test_text_is_typed_key_by_key_and_what_has_no_key_is_put_in(pages: Pages) -> None:
    await pages.visit("/form")
    await pages("POST page/click", selector="#note")
    await pages("POST page/type", text="Hi 世界 🎉 é\nnew", delay=1)
    await pages("POST page/type", text="y" * 2000)

    assert await pages.js("note.value") == "Hi 世界 🎉 é\nnew" + "y" * 2000
    assert (await pages.js("keys"))[:2] == ["H", "i"]


async def test_keys_go_by_any_of_their_names_alone_and_together(pages: Pages) -> None:
    await pages.visit("/form")
    await pages("POST page/click", selector="#name")
    await pages("POST page/type", text="abc")
    for key in ("enter", "ArrowLeft", "esc", "page_down", "é"):
        await pages("POST page/press_key", key=key)
    await pages("POST page/hot_key", keys=["ctrl", "a"])
    await pages("POST page/press_key", key="Control+x")

    pressed = await pages.js("keys")
    assert pressed[3:7] == ["Enter", "ArrowLeft", "Escape", "PageDown"]
    assert pressed[-2:] == ["ctrl+Control", "ctrl+x"]
    assert await pages.js("document.querySelector('#name').value") == ""


async def test_hovering_shows_what_hovering_shows(pages: Pages) -> None:
    await pages.visit("/form")
    await pages.js("send.onmouseenter = () => { document.title = 'over' }; null")
    await pages("POST page/hover", selector="#send")

    assert await pages.title() == "over"


async def test_a_feed_grows_as_it_is_scrolled(pages: Pages) -> None:
    await pages.visit("/feed")
    first = await pages("POST page/scroll", amount=100)
    bottom = await pages("POST page/scroll_to", y=1_000_000)
    await pages.js("new Promise(requestAnimationFrame)")
    more = await pages("POST page/scroll", amount=300)
    up = await pages("POST page/scroll", direction="up", amount=10_000)

    assert (first.x, first.y, first.at_end) == (0, 100, False)
    assert bottom.y > 500
    assert more.height > first.height
    assert up.y == 0


async def test_a_pane_is_scrolled_where_the_page_is_not(pages: Pages) -> None:
    await pages.visit("/pane")
    scrolled = await pages("POST page/scroll", amount=400)

    assert scrolled.y == await pages.js("pane.scrollTop") == 400


async def test_an_element_is_scrolled_to(pages: Pages) -> None:
    await pages.visit("/feed")
    await pages("POST page/scroll_to_element", selector="text=row 9")

    assert await pages.js("scrollY") > 500


async def test_dialogs_never_hold_a_call_and_the_hint_tells_of_them(pages: Pages) -> None:
    await pages.visit("/dialogs")
    await pages("POST page/click", selector="#alert")
    alerted = (await pages.title(), pages.hint)
    await pages("POST page/click", selector="#alert")
    told = pages.hint or ""
    await pages("POST page/click", selector="#confirm")
    dismissed = await pages.title()
    await pages("POST page/click", selector="#confirm", dialog="accept")
    accepted = await pages.title()
    await pages("POST page/click", selector="#prompt", dialog="accept", dialog_text="me")

    assert alerted[0] == "alerted"
    assert "alert dialog 'Mind!', which was accepted" in told
    assert (dismissed, accepted, await pages.title()) == ("false", "true", "me")


async def test_a_dialog_that_a_person_opened_waits_for_the_next_call(pages: Pages) -> None:
    await pages.visit("/dialogs")
    page = await pages.session.page()
    async with page.expect_event("dialog"):
        await page.evaluate("setTimeout(() => { document.title = confirm('Mine?') }, 0)")
    assert await pages.js("document.title", dialog="accept") == "true"
    assert "confirm dialog 'Mine?', which was accepted" in (pages.hint or "")


async def test_a_window_that_opens_is_told_in_the_hint(pages: Pages) -> None:
    await pages.visit("/popup")
    await pages("POST page/click", selector="button")

    assert pages.hint == f"A tab was opened: 1 (in front), {pages.web}/"
