from sandbox_server.drivers.browser.browser_client import BrowserTab
from sandbox_server.drivers.browser.page_events import MAX_LISTENERS, MAX_NOTICES, MAX_URL, BrowserNotices


def tabs(*pages: str) -> list[BrowserTab]:
    return [BrowserTab(page, f"http://{page}/", page, page == pages[-1]) for page in pages]


def test_what_was_there_at_first_is_no_news() -> None:
    notices = BrowserNotices()
    notices.see(tabs("a", "b"))

    assert notices.take() is None


def test_a_new_tab_is_told_once_with_its_place() -> None:
    notices = BrowserNotices()
    notices.see(tabs("a"))
    notices.see(tabs("a", "b"))

    assert notices.take() == "A tab was opened: 1 (in front), http://b/"
    notices.see(tabs("a", "b"))
    assert notices.take() is None


def test_a_tab_that_the_caller_opened_is_no_news() -> None:
    notices = BrowserNotices()
    notices.see(tabs("a"))
    notices.know("b")
    notices.see(tabs("a", "b"))

    assert notices.take() is None


def test_of_many_tabs_their_number_is_told() -> None:
    notices = BrowserNotices()
    notices.see(tabs("a"))
    notices.see(tabs("a", *(f"n{number}" for number in range(50))))

    assert notices.take() == "50 tabs were opened, 1 to 50."


def test_of_too_many_sentences_the_oldest_are_lost() -> None:
    notices = BrowserNotices()
    for number in range(MAX_NOTICES + 5):
        notices.add(f"{number}.")

    assert (notices.take() or "").split()[0] == "5."


def test_each_caller_is_told_what_happened_since_it_called_first() -> None:
    notices = BrowserNotices()
    notices.add("Before.")
    notices.listen("ann")
    notices.add("One.")
    notices.listen("bob")
    notices.add("Two.")

    assert [heard(notices, name) for name in ("ann", "bob", "ann", "eve")] == ["One. Two.", "Two.", None, None]


def test_of_too_many_callers_the_one_who_called_longest_ago_is_forgotten() -> None:
    notices = BrowserNotices()
    notices.listen("ann")
    notices.add("One.")
    for number in range(MAX_LISTENERS):
        notices.listen(str(number))

    assert heard(notices, "ann") is None


def heard(notices: BrowserNotices, name: str) -> str | None:
    notices.listen(name)
    return notices.take()


def test_of_a_long_address_the_beginning_is_told() -> None:
    notices = BrowserNotices()
    notices.see([])
    notices.see([BrowserTab("1", "data:," + "x" * 1_000_000, "", active=False)])
    assert len(notices.take() or "") < 2 * MAX_URL
