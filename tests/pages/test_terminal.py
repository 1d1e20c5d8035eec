"""The terminal page in a real browser, as a person meets it: the agent's session first, and none that nobody asked for."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.image.container import Sandbox, engine
from tests.patience import until

DESK, PHONE = (1440, 900), (390, 844)

RELEASE = """fetch("/v1/control/release", {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"})
  .then((answer) => answer.status)"""

type Opener = Callable[..., AbstractContextManager[Page]]


@pytest.fixture(autouse=True)
def _clean(sandbox: Sandbox) -> Iterator[None]:
    sandbox.request("DELETE", "/v1/shell/sessions")
    yield
    sandbox.request("DELETE", "/v1/shell/sessions")


@contextmanager
def signed_in_pages(browser: Browser, sandbox: Sandbox) -> Iterator[Opener]:
    signed_in = browser.new_context()
    signed_in.new_page().goto(f"{sandbox.base_url}/?api_key={sandbox.api_key}")
    state = signed_in.storage_state()
    wrong: list[str] = []

    @contextmanager
    def opened(size: tuple[int, int] = DESK, path: str = "/terminal", **options: Any) -> Iterator[Page]:
        with browser.new_context(viewport={"width": size[0], "height": size[1]}, storage_state=state, **options) as context:
            page = context.new_page()
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto(f"{sandbox.base_url}{path}")
            yield page

    yield opened
    signed_in.close()
    assert wrong == []


@pytest.fixture
def person(browser: Browser, sandbox: Sandbox) -> Iterator[Opener]:
    """Opens pages of one person who is signed in; an error of their scripts fails the test."""
    with signed_in_pages(browser, sandbox) as opened:
        yield opened


@pytest.fixture
def other_person(browser: Browser, sandbox: Sandbox) -> Iterator[Opener]:
    """Opens pages of another person."""
    with signed_in_pages(browser, sandbox) as opened:
        yield opened


def run(sandbox: Sandbox, command: str, **more: Any) -> dict[str, Any]:
    """Have the agent run a command without naming a session."""
    answer = sandbox.request("POST", "/v1/shell/exec", json={"command": command, **more})
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def sessions(sandbox: Sandbox) -> dict[str, Any]:
    found: dict[str, Any] = sandbox.request("GET", "/v1/shell/sessions").json()["data"]["sessions"]
    return found


def connected(page: Page) -> None:
    expect(page.locator("#connection")).to_have_text("Connected")


def shows(page: Page, text: str) -> None:
    """Wait until the terminal shows a text."""
    expect(page.locator(".xterm-rows")).to_contain_text(text)


def chosen(page: Page, title: str) -> None:
    """Wait until the session that is shown is called so."""
    expect(page.locator("#sessions option:checked")).to_have_text(title)


def test_the_page_shows_the_agents_session_and_what_runs_there(sandbox: Sandbox, person: Opener) -> None:
    run(sandbox, "mkdir -p site && cd site && echo here is the agent")
    agents = run(sandbox, "sleep 600", async_mode=True)["session_id"]
    with person() as page:
        shows(page, "here is the agent")
        chosen(page, "Agent · ~/site · sleep 600 (running)")
        assert f"session_id={agents}" in page.url
    assert list(sessions(sandbox)) == [agents]


def test_eight_openings_leave_no_session_and_the_agent_goes_on(sandbox: Sandbox, person: Opener) -> None:
    agents = run(sandbox, "echo first")["session_id"]
    for _ in range(8):
        with person() as page:
            connected(page)
    assert list(sessions(sandbox)) == [agents]
    assert run(sandbox, "echo still")["output"] == "still\n"


def test_before_there_is_a_session_none_is_made_and_the_agents_first_is_shown_at_once(sandbox: Sandbox, person: Opener) -> None:
    with person() as page:
        expect(page.get_by_role("heading", name="No terminal is open yet")).to_be_visible()
        assert sessions(sandbox) == {}
        run(sandbox, "echo the first command")
        shows(page, "the first command")
        expect(page.locator("#empty")).to_be_hidden()


def test_a_new_session_is_made_by_its_button_and_goes_unused_with_the_page(sandbox: Sandbox, person: Opener) -> None:
    agents = run(sandbox, "true")["session_id"]
    with person() as page:
        connected(page)
        page.get_by_role("button", name="New session").click()
        chosen(page, "You · ~")
        assert len(sessions(sandbox)) == 2
    until(lambda: list(sessions(sandbox)) == [agents])


def test_as_many_pages_as_people_may_open_leave_the_agent_its_sessions_and_the_next_a_choice(sandbox: Sandbox, person: Opener) -> None:
    made = [str(uuid4()) for _ in range(8)]
    with ExitStack() as pages:
        for number in range(8):
            page = pages.enter_context(person(path=f"/terminal?session_id={made[number]}"))
            chosen(page, "You · ~" if number == 0 else f"You · ~ ({number + 1})")
        assert run(sandbox, "echo in")["output"] == "in\n"
        late = pages.enter_context(person())
        connected(late)
        late.get_by_role("button", name="New session").click()
        expect(late.get_by_role("heading", name="All terminals are in use")).to_be_visible()
        late.get_by_role("button", name="You · ~", exact=True).click()
        connected(late)
        assert f"session_id={made[0]}" in late.url


def test_where_the_agent_types_is_told_and_one_click_away(sandbox: Sandbox, person: Opener) -> None:
    run(sandbox, "true")
    with person() as page:
        connected(page)
        page.get_by_role("button", name="New session").click()
        chosen(page, "You · ~")
        run(sandbox, "cd /usr; echo followed")
        told = page.locator("#elsewhere")
        expect(told).to_contain_text("Agent is typing in another session: Agent · /usr")
        told.get_by_role("button", name="Show").click()
        shows(page, "followed")
        expect(told).to_be_hidden()


def test_a_session_is_closed_from_the_page_after_a_question_where_something_runs(sandbox: Sandbox, person: Opener) -> None:
    kept = run(sandbox, "true")["session_id"]
    run(sandbox, "sleep 601", id="busy", async_mode=True)
    with person(path="/terminal?session_id=busy") as page:
        chosen(page, "Agent · ~ · sleep 601 (running)")
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_contain_text("sleep 601 is still running")
        page.get_by_role("button", name="Cancel").click()
        assert "busy" in sessions(sandbox)
        page.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Close session").click()
        chosen(page, "Agent · ~")
    until(lambda: list(sessions(sandbox)) == [kept])


def test_what_the_agent_writes_into_a_title_is_text_of_bounded_length(sandbox: Sandbox, person: Opener) -> None:
    run(
        sandbox,
        f"mkdir -p '/tmp/<img src=x onerror=alert(1)>'; cd '/tmp/<img src=x onerror=alert(1)>'; : {'x' * 5000}; sleep 600",
        timeout=3,
    )
    with person(PHONE) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        connected(page)
        entry = page.locator("#sessions option:checked")
        expect(entry).to_contain_text("(running)")
        title = entry.text_content() or ""
        assert len(title) < 130
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]


def test_a_persons_first_key_takes_the_terminals_and_what_somebody_else_types_is_refused_aloud(
    sandbox: Sandbox, person: Opener, other_person: Opener
) -> None:
    run(sandbox, "true")
    with person() as page:
        connected(page)
        page.locator(".xterm-helper-textarea").press_sequentially("echo ty''ped")
        page.keyboard.press("Enter")
        shows(page, "typed")
        refused = sandbox.request("POST", "/v1/shell/exec", json={"command": "true"})
        assert refused.status_code == 423, refused.text
        with other_person() as second:
            connected(second)
            second.locator(".xterm-helper-textarea").press_sequentially("x")
            expect(second.locator("#notice")).to_have_text("Somebody else has control: what you type goes nowhere")
        released = page.evaluate(RELEASE)
        assert released == 200


def test_the_page_speaks_chinese(sandbox: Sandbox, person: Opener) -> None:
    run(sandbox, "true")
    with person(PHONE, locale="zh-CN") as page:
        expect(page.locator("#connection")).to_have_text("已连接")
        chosen(page, "智能体 · ~")
        assert page.evaluate("document.documentElement.lang") == "zh"


def test_after_a_restart_the_sessions_that_ended_make_room(start_sandbox: Callable[..., Sandbox]) -> None:
    sandbox = start_sandbox(env={"MAX_SHELL_SESSIONS": "2"})
    for name in ("one", "two"):
        run(sandbox, "true", id=name)
    assert engine("restart", sandbox.name).code == 0
    sandbox.wait_ready()
    stats = sandbox.request("GET", "/v1/shell/sessions/stats").json()["data"]
    assert (stats["total_sessions"], stats["ended_sessions"], stats["usage_ratio"]) == (2, 2, 0.0)
    assert run(sandbox, "echo in")["output"] == "in\n"
    assert run(sandbox, "echo in", id="three")["output"] == "in\n"
