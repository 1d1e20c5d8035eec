import pytest

from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_navigating_lists_what_can_be_clicked(pages: Pages) -> None:
    text = await pages("POST tools/navigate", url=f"{pages.web}/")

    assert text.splitlines()[0] == f"Navigated to {pages.web}/"
    assert "browser_get_clickable_elements" in text.splitlines()[1]
    assert f'[0]<a href="{pages.web}/form">To the form</a>' in text


async def test_a_field_is_added_to_or_cleared(pages: Pages) -> None:
    await pages.visit("/form")
    await pages("POST tools/fill", selector="#name", value="one")
    await pages("POST tools/fill", selector="#name", value=" two")
    added = await pages.js("document.querySelector('#name').value")
    await pages("POST tools/fill", selector="#name", value="three", clear=True)

    assert (added, await pages.js("document.querySelector('#name').value")) == ("one two", "three")


async def test_an_option_goes_by_its_value_or_its_text(pages: Pages) -> None:
    await pages.visit("/form")
    for value in ("g", "Red"):
        await pages("POST tools/select", selector="#colour", value=value)
        assert await pages.js("colour.value") == value[0].lower()


async def test_scrolling_without_an_amount_leads_to_the_bottom(pages: Pages) -> None:
    await pages.visit("/pane")
    down = await pages("POST tools/scroll")
    up = await pages("POST tools/scroll", amount=-100)

    assert down.at_end
    assert up.y == down.y - 100


async def test_a_point_is_clicked_in_the_units_that_the_caller_sees(pages: Pages) -> None:
    await pages.visit("/canvas")
    width, height = await pages.js("[innerWidth, innerHeight]")
    x, y = await pages.js("(() => { const box = c.getBoundingClientRect(); return [box.x + 50, box.y + 50] })()")
    await pages("POST tools/click", x=x / width * 1000, y=y / height * 1000, factors=[1000, 1000])

    assert await pages.title() in ("50,50", "49,50", "50,49", "49,49")


async def test_tabs_are_closed_one_by_one_or_all(pages: Pages) -> None:
    await pages("POST tabs", url=f"{pages.web}/form")
    await pages("POST tabs", url=f"{pages.web}/article")
    await pages("POST tools/close_tab")
    left = [tab.url for tab in await pages("GET tabs")]
    await pages("POST tools/close")

    assert len(left) == 2
    assert [tab.url for tab in await pages("GET tabs")] == ["about:blank"]
