from pathlib import Path

import pytest

from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_fields_are_filled_chosen_from_and_ticked(pages: Pages) -> None:
    await pages.visit("/form")
    await pages("POST page/fill", selector="#name", text="Jürgen 世界")
    chosen = await pages("POST page/select_option", selector="#colour", label="Green")
    await pages("POST page/check", selector="#agree")
    ticked = await pages.js("agree.checked")
    await pages("POST page/uncheck", selector="#agree")

    assert await pages.js("document.querySelector('#name').value") == "Jürgen 世界"
    assert (chosen, ticked, await pages.js("agree.checked")) == (["g"], True, False)
    assert await pages.js("seen") == ["colour", "name", "agree", "agree"]


async def test_a_form_of_every_kind_of_field_is_filled_at_once(pages: Pages, home: Path) -> None:
    (home / "a.txt").write_text("hello")
    await pages.visit("/form")
    listed = await pages("GET page/elements")
    note = next(element.index for element in listed if element.tag == "textarea")
    filled = await pages(
        "POST page/fill_form",
        items=[
            {"selector": "#name", "value": "me"},
            {"index": note, "value": "a note"},
            {"selector": "#rich", "value": "new"},
            {"selector": "#colour", "value": "Green"},
            {"selector": "#agree", "value": True},
            {"selector": "#large", "value": True},
            {"selector": "#files", "value": [str(home / "a.txt")]},
        ],
    )

    assert filled.filled == 7
    name = "document.querySelector('#name').value"
    fields = f"[{name}, note.value, rich.textContent, colour.value, agree.checked, large.checked, files.files[0].name]"
    assert await pages.js(fields) == ["me", "a note", "new", "g", True, True, "a.txt"]


async def test_a_form_that_cannot_be_filled_says_which_item(pages: Pages) -> None:
    await pages.visit("/form")
    missing = await pages.fails(
        "POST page/fill_form", items=[{"selector": "#name", "value": "x"}, {"selector": "#nothing", "value": "x"}], timeout=3
    )
    kind = await pages.fails("POST page/fill_form", items=[{"selector": "#agree", "value": "yes"}])
    option = await pages.fails("POST page/fill_form", items=[{"selector": "#colour", "value": "Blue"}])

    assert (missing.status, missing.message.split(":")[0], missing.details["filled"]) == (404, "items.1", 1)
    assert (kind.status, option.status) == (409, 404)
    assert "give either selector or index" in await pages.refuses("POST page/fill_form", items=[{"value": "x"}])
    assert "give one of value, label and index" in await pages.refuses("POST page/select_option", selector="#colour")


async def test_files_of_the_agent_are_handed_to_the_page(pages: Pages, home: Path) -> None:
    (home / "a.txt").write_text("hello")
    (home / "b.bin").write_bytes(bytes(range(256)) * 300_000)
    await pages.visit("/form")
    await pages("POST page/upload_file", selector="#files", files=["~/a.txt", str(home / "b.bin")])

    assert await pages.js("Promise.all([...files.files].map(async (file) => [file.name, file.size]))") == [
        ["a.txt", 5],
        ["b.bin", 76_800_000],
    ]
    assert await pages.js("files.files[0].text()") == "hello"
    await pages("POST page/upload_file", selector="#files", files=[])
    assert await pages.js("files.files.length") == 0


async def test_a_file_that_the_agent_cannot_read_is_named(pages: Pages, home: Path) -> None:
    await pages.visit("/form")
    failure = await pages.fails("POST page/upload_file", selector="#files", files=[str(home / "none")])

    assert "No such file or directory" in failure.message


async def test_a_disabled_field_is_a_conflict(pages: Pages) -> None:
    await pages.visit("/form")
    await pages.js("void (document.querySelector('#name').disabled = true)")
    failure = await pages.fails("POST page/fill", selector="#name", text="x", timeout=1)

    assert (failure.status, failure.details["reason"]) == (409, "timeout")
    assert "not enabled" in failure.message
