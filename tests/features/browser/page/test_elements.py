import pytest

from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_elements_are_described_and_a_password_is_not_told(pages: Pages) -> None:
    await pages.visit("/form")
    await pages("POST page/fill", selector="#secret", text="hunter2")
    found = {(element.tag, element.type, element.name): element for element in await pages("GET page/elements")}

    assert found["input", "text", "Your name"].value == ""
    assert found["input", "password", "Password"].value == "(hidden)"
    assert found["select", "select-one", ""].options == ["Red", "Green"]
    assert found["button", "submit", "Never"].disabled
    assert not found["button", "submit", "Send"].disabled
    assert "hunter2" not in str(found)


async def test_elements_in_shadow_roots_and_frames_are_listed_and_clicked(pages: Pages) -> None:
    await pages.visit("/shadow")
    deep = {element.name: element.index for element in await pages("GET page/elements")}
    await pages("POST page/click", index=deep["Deep"])
    pressed = await pages.title()
    await pages.visit("/frames")
    [button, field] = await pages("GET page/elements")
    await pages("POST page/click", index=button.index)
    framed = await pages.title()
    await pages("POST page/fill", index=field.index, text="typed")
    await pages("POST page/click", x=button.x + button.width / 2, y=button.y + button.height / 2)

    assert set(deep) == {"Deep", "Deep link"}
    assert (pressed, framed) == ("pressed", "from the frame")
    assert button.frame == f"{pages.web}/inside"
    assert await pages.js("field.value", frame="inner") == "typed"


async def test_an_index_stays_an_elements_and_is_no_others_after_it(pages: Pages) -> None:
    await pages.visit("/changing")
    [old] = await pages("GET page/elements")
    await pages.js("replace()")
    stale = await pages.fails("POST page/click", index=old.index)
    [new] = await pages("GET page/elements")

    assert (stale.status, stale.details["reason"]) == (409, "stale")
    assert "the element 0 is stale" in stale.message
    assert new.index == 1
    assert (await pages("GET page/elements"))[0].index == 1


async def test_an_index_of_another_page_is_stale_and_one_never_given_not_found(pages: Pages) -> None:
    await pages.visit("/form")
    many = await pages("GET page/elements")
    unknown = await pages.fails("POST page/click", index=999)
    await pages.visit("/")
    stale = await pages.fails("POST page/click", index=many[-1].index)
    again = await pages("GET page/elements")

    assert (unknown.status, stale.status) == (404, 409)
    assert [element.index for element in again] == [0, 1]
