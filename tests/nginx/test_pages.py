"""Each page is served at its URL from the folder of that name, and every file it loads is served too."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.web.test_pages import WEB

if TYPE_CHECKING:
    from tests.nginx.conftest import Gateway

KEY = {"X-AIO-API-Key": "the-key-of-the-tests"}
URLS = {
    "docs": "/v1/docs",
    "editor": "/static/editor/index.html",
    "home": "/",
    "login": "/static/login/index.html",
    "recorder": "/recorder",
    "stream": "/stream/",
    "terminal": "/terminal",
    "view": "/view",
    "vnc": "/vnc/index.html",
}


def test_every_folder_with_a_page_has_its_url() -> None:
    assert {page.parent.name for page in WEB.rglob("index.html") if "vendor" not in page.parts} == set(URLS)


@pytest.mark.parametrize("folder", sorted(URLS))
def test_a_page_is_served_at_its_url_with_all_that_it_loads(gateway: "Gateway", folder: str) -> None:
    page = gateway.ask("GET", URLS[folder], KEY)
    assert (page.status, page.content) == (200, (WEB / folder / "index.html").read_bytes())

    loaded = re.findall(r'(?:src|href)="(/static/(?!vendor/)[^"]+)"', page.content.decode())
    assert f"/static/{folder}/" in "".join(loaded)
    assert {address: gateway.ask("GET", address, KEY).status for address in loaded} == dict.fromkeys(loaded, 200)


def test_the_element_is_found_at_its_former_address(gateway: "Gateway") -> None:
    answer = gateway.ask("GET", "/static/view/tandem-view.js?v=1", KEY)
    assert (answer.status, answer.headers["Location"]) == (308, "/static/stream/tandem-view.js?v=1")
    assert gateway.ask("GET", answer.headers["Location"], KEY).content == (WEB / "stream/tandem-view.js").read_bytes()
