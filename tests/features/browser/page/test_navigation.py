import pytest

from sandbox_server.drivers.browser import session
from sandbox_server.features.browser.page.navigation import address
from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio


async def test_a_page_is_loaded_gone_back_from_and_loaded_again(pages: Pages) -> None:
    landed = await pages("POST page/navigate", url=f"{pages.web}/form")
    await pages.visit("/article")
    back = await pages("POST page/back")
    forward = await pages("POST page/forward")
    again = await pages("POST page/reload")

    assert (landed.url, landed.title, landed.status) == (f"{pages.web}/form", "Form", 200)
    assert [there.title for there in (back, forward, again)] == ["Form", "An article", "An article"]


async def test_where_there_is_no_page_to_go_to_it_is_a_conflict(pages: Pages) -> None:
    failure = await pages.fails("POST page/forward")

    assert (failure.status, failure.details["reason"]) == (409, "no_history")


async def test_a_missing_page_is_loaded_and_says_its_status(pages: Pages) -> None:
    assert (await pages("POST page/navigate", url=f"{pages.web}/missing")).status == 404


@pytest.mark.parametrize(
    ("url", "status", "reason"), [("http://127.0.0.1:1/", 409, "network"), ("http://", 400, None), ("nowhere.invalid", 409, "network")]
)
async def test_what_cannot_be_loaded_is_no_error_of_ours(pages: Pages, url: str, status: int, reason: str | None) -> None:
    failure = await pages.fails("POST page/navigate", url=url)

    assert (failure.status, failure.details.get("reason")) == (status, reason)


async def test_a_server_that_never_answers_ends_at_the_timeout(pages: Pages) -> None:
    failure = await pages.fails("POST page/navigate", url=f"{pages.web}/never", timeout=0.5)

    assert (failure.status, failure.details["reason"]) == (409, "timeout")


async def test_a_frame_goes_elsewhere_and_the_page_stays(pages: Pages) -> None:
    await pages.visit("/frames")
    await pages("POST page/navigate", url=f"{pages.web}/article", frame="inner")

    assert await pages.title() == "Frames"
    assert "Paragraph 3" in await pages("GET page/text", frame="inner")


async def test_a_page_that_is_not_to_be_left_is_left_unless_told_to_stay(pages: Pages) -> None:
    await pages.visit("/dialogs")
    await pages("POST page/click", selector="#stay")
    stayed = await pages.fails("POST page/navigate", url=f"{pages.web}/", dialog="dismiss", timeout=5)
    await pages.visit("/form")

    assert stayed.status == 409
    assert await pages.title() == "Form"


async def test_a_page_that_hangs_is_left(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    await pages.visit("/hang")
    await pages.js("setTimeout(hang)")
    with monkeypatch.context() as impatient:
        impatient.setattr(session, "ANSWER_SECONDS", 3.0)
        stuck = await pages.fails("GET page/text")
        await pages.visit("/form")

    assert (stuck.status, stuck.details["reason"]) == (409, "not_responding")
    assert await pages.title() == "Form"


async def test_a_page_that_crashed_is_reloaded(pages: Pages) -> None:
    await pages.visit("/form")
    await pages.crash()
    crashed = await pages.fails("POST page/evaluate", expression="1")
    landed = await pages("POST page/reload")

    assert (crashed.status, crashed.details["reason"]) == (409, "crashed")
    assert (landed.url, landed.title) == (f"{pages.web}/form", "Form")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("example.com/x", "http://example.com/x"),
        ("localhost:3000", "http://localhost:3000"),
        ("https://example.com", "https://example.com"),
        ("about:blank", "about:blank"),
        ("data:text/html,hello", "data:text/html,hello"),
        ("file:///tmp/x", "file:///tmp/x"),
    ],
)
def test_an_address_without_a_scheme_gets_one(given: str, made: str) -> None:
    assert address(given) == made
