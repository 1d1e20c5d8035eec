import io

import pytest
from PIL import Image

from sandbox_server.features.browser.page.reading import without_passwords
from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_a_picture_shows_the_page_a_part_of_it_or_all_of_it(pages: Pages) -> None:
    await pages.visit("/canvas")
    shot = await pages("GET page/screenshot")
    part = await pages("GET page/screenshot", selector="#c", format="jpeg", quality=90)
    await pages.visit("/feed")
    whole = await pages("GET page/screenshot", full_page=True)

    with Image.open(io.BytesIO(part.body)) as picture:
        assert (part.media_type, picture.size) == ("image/jpeg", (100, 100))
        red, green, blue = picture.convert("RGB").getpixel((50, 50))  # type: ignore[misc]
        assert red > 180 > 40 > max(green, blue)
    with Image.open(io.BytesIO(shot.body)) as seen, Image.open(io.BytesIO(whole.body)) as page:
        assert (shot.media_type, seen.format) == ("image/png", "PNG")
        assert page.height == 2000 > seen.height


async def test_a_page_too_large_for_a_picture_is_refused(pages: Pages) -> None:
    await pages.visit("/feed")
    await pages.js("void (document.body.style.height = '10000000px')")
    failure = await pages.fails("GET page/screenshot", full_page=True)

    assert failure.status == 413


async def test_a_tab_behind_another_is_seen_too(pages: Pages) -> None:
    await pages.visit("/canvas")
    await pages("POST tabs")
    part = await pages("GET page/screenshot", tab=0, selector="#c")
    await pages("POST page/click", tab=0, selector="#c")

    with Image.open(io.BytesIO(part.body)) as picture:
        assert picture.convert("RGB").getpixel((50, 50)) == (200, 0, 0)
    assert await pages.js("document.title", tab=0) == "50,50"


async def test_markup_is_read_of_the_page_or_an_element(pages: Pages) -> None:
    await pages.visit("/form")

    assert (await pages("GET page/html")).startswith("<!DOCTYPE html>")
    assert (await pages("GET page/html", outer=True)).startswith("<html>")
    assert await pages("GET page/html", selector="option") == "Red"
    assert await pages("GET page/html", selector="option", outer=True) == '<option value="r">Red</option>'


async def test_text_is_read_of_shadow_roots_and_frames_too(pages: Pages) -> None:
    await pages.visit("/shadow")
    shadow = await pages("GET page/text")
    await pages.visit("/frames")

    assert "In the shadow" in shadow
    assert (await pages("GET page/text")).splitlines()[:1] == ["Outside"]
    assert "Within the frame" in await pages("GET page/text")
    assert "Outside" not in await pages("GET page/text", frame="inner")


async def test_an_article_becomes_markdown_without_what_is_around_it(pages: Pages) -> None:
    await pages.visit("/article")
    article = await pages("GET page/markdown")

    assert (article.title, article.readable) == ("An article", True)
    assert "Paragraph 3: a box holds what is put into it, and **no more**" in article.content
    assert f"[there]({pages.web}/deep)" in article.content
    assert "- one\n- two" in article.content
    assert "Imprint" not in article.content


async def test_a_page_without_an_article_becomes_markdown_whole(pages: Pages) -> None:
    await pages.visit("/")
    page = await pages("GET page/markdown")

    assert not page.readable or "To the form" in page.content
    assert "To the form" in page.content


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 1", 2),
        ("document.title;", "Form"),
        ("() => ({a: [1, null, 'x']})", {"a": [1, None, "x"]}),
        ("{b: 2}", {"b": 2}),
        ("const x = 3; return x + 1", 4),
        ("let y = await Promise.resolve(5)\nreturn y", 5),
        ("async () => (await fetch('/data')).status", 200),
        ("undefined", None),
        ("// a remark\n7 // and another", 7),
    ],
)
async def test_scripts_give_what_they_give(pages: Pages, expression: str, value: object) -> None:
    await pages.visit("/form")

    assert await pages("POST page/evaluate", expression=expression) == value


async def test_scripts_run_where_the_page_allows_no_eval_and_only_once(pages: Pages) -> None:
    await pages.visit("/policy")
    await pages.js("let count = 0; window.more = () => { count++; JSON.parse('{'); }; window.count = () => count")
    failure = await pages.fails("POST page/evaluate", expression="more()")

    assert (failure.status, await pages.js("count()")) == (400, 1)
    assert "the script failed: SyntaxError" in failure.message


async def test_a_script_that_never_ends_ends_at_its_timeout(pages: Pages) -> None:
    await pages.visit("/form")
    failure = await pages.fails("POST page/evaluate", expression="new Promise(() => {})", timeout=0.5)

    assert (failure.status, failure.details["reason"]) == (409, "timeout")


async def test_a_script_that_leads_elsewhere_says_so(pages: Pages) -> None:
    await pages.visit("/form")
    failure = await pages.fails("POST page/evaluate", expression="location.href = '/article'; await new Promise(() => {})")

    assert (failure.status, failure.details["reason"]) == (409, "navigated")


async def test_a_text_is_found_with_what_is_around_it(pages: Pages) -> None:
    await pages.visit("/article")
    matches = await pages("POST page/find_text", keyword="PARAGRAPH 3")
    await pages.visit("/frames")
    framed = await pages("POST page/find_text", keyword="within")

    assert [match.text for match in matches] == ["Paragraph 3: a box holds what is put into it, and"]
    assert matches[0].width > 0
    assert framed[0].frame == f"{pages.web}/inside"
    assert await pages("POST page/find_text", keyword="nowhere") == []


async def test_what_is_not_in_the_page_is_not_found(pages: Pages) -> None:
    await pages.visit("/form")
    for route in ("GET page/html", "GET page/screenshot"):
        missing = await pages.fails(route, selector="#nowhere")
        assert (missing.status, missing.details["selector"]) == (404, "#nowhere")


def test_markup_leaves_out_what_a_password_field_holds() -> None:
    html = '<p>type="password"<input name="a>b" type="password" value="hunter2"><input value="x" type="PASSWORD"><input value="ann">'
    assert without_passwords(html) == html.replace("hunter2", "(hidden)").replace('"x"', '"(hidden)"')


def test_markup_that_is_none_costs_little() -> None:
    html = '<input "' * 20_000 + ' type="password"' * 20_000
    assert without_passwords(html) == html
