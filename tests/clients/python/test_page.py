import httpx
import pytest
from tandem import wire
from tandem._sync.connection import Connection
from tandem._sync.page import Page
from tandem.api import Api

from tests.clients.python.conftest import Server


@pytest.fixture
def page(server: Server) -> Page:
    connection = Connection(wire.Place("http://box", ""), 0, httpx.Client(transport=httpx.MockTransport(server.take)))
    return Page(Api(connection), tab=2)


def test_each_act_names_the_tab_and_the_element(page: Page, server: Server) -> None:
    server.then(200, {"url": "http://a/", "title": "t", "status": 200})
    assert page.goto("a").title == "t"
    server.then(200).then(200).then(200)
    page.click("text=go")
    page.fill("me", index=3)
    page.press("Enter")
    assert [request.url.path.rpartition("/")[2] for request in server.asked] == ["navigate", "click", "fill", "press_key"]
    assert all(server.body(number)["tab"] == 2 for number in range(4))
    assert (server.body(1)["selector"], server.body(2)["index"], server.body(3)["key"]) == ("text=go", 3, "Enter")


def test_each_look_answers_what_it_says(page: Page, server: Server) -> None:
    server.then(200, 7).then(200, "text").then(200, "<html>").then(200, [])
    assert (page.evaluate("3 + 4"), page.text(), page.html(), page.elements()) == (7, "text", "<html>", [])
    markdown = {
        "title": "t",
        "content": "# t",
        "url": "u",
        "readable": True,
        "byline": None,
        "site_name": None,
        "excerpt": None,
        "language": None,
    }
    server.then(200, markdown)
    assert page.markdown() == "# t"
    server.answers.append(httpx.Response(200, content=b"png"))
    assert page.screenshot(full_page=True) == b"png"
    assert server.asked[-1].url.params["full_page"] == "true"
