"""Each page is served at its URL from the folder of that name, and every file it loads is served too."""

import gzip
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
    "files": "/files",
    "home": "/",
    "join": "/join",
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


def test_scripts_and_styles_are_compressed_for_who_takes_them_so(gateway: "Gateway") -> None:
    for address in ("/static/stream/stream_client.js", "/static/style.css"):
        plain, packed = gateway.ask("GET", address, KEY), gateway.ask("GET", address, KEY | {"Accept-Encoding": "gzip"})
        assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
        assert gzip.decompress(packed.content) == plain.content
        assert len(packed.content) < len(plain.content)


def test_the_element_is_found_at_its_former_address(gateway: "Gateway") -> None:
    answer = gateway.ask("GET", "/static/view/tandem-view.js?v=1", KEY)
    assert (answer.status, answer.headers["Location"]) == (308, "/static/stream/tandem-view.js?v=1")
    assert gateway.ask("GET", answer.headers["Location"], KEY).content == (WEB / "stream/tandem-view.js").read_bytes()


def test_a_browser_finds_an_icon_whoever_is_signed_in(gateway: "Gateway") -> None:
    answer = gateway.ask("GET", "/favicon.ico", {})
    assert (answer.status, answer.headers["Location"]) == (308, "/static/home/icon.svg")
    assert gateway.ask("GET", answer.headers["Location"], {}).status == 200


BROWSER = {"Accept": "text/html,*/*"}


def test_a_browser_gets_an_error_page_with_a_way_home_and_a_program_json(gateway: "Gateway") -> None:
    for path in ("/no-such-page", "/static/no-such-file"):
        page, program = gateway.ask("GET", path, KEY | BROWSER), gateway.ask("GET", path, KEY)
        assert (page.status, program.status) == (404, 404)
        assert (page.headers["Content-Type"], program.headers["Content-Type"]) == ("text/html; charset=utf-8", "application/json")
        assert 'data-error="missing"' in page.content.decode()
        assert '<a class="button" href="/"' in page.content.decode()


def test_who_may_not_open_a_page_is_told_what_for_and_led_home(gateway: "Gateway") -> None:
    page = gateway.ask("GET", "/recorder", BROWSER | {"Authorization": f"Bearer {gateway.agent_token}"})
    assert page.status == 403
    assert """data-error="forbidden" data-reason="this needs the scope 'admin'\"""" in page.content.decode()
    assert '<a class="button" href="/"' in page.content.decode()


def test_what_an_error_page_loads_is_served_to_who_is_signed_out(gateway: "Gateway") -> None:
    page = gateway.ask("GET", "/no-such-page", KEY | BROWSER)
    loaded = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.content.decode())
    assert {address: gateway.ask("GET", address).status for address in loaded} == dict.fromkeys(loaded, 200)


def test_a_link_that_is_used_up_leads_to_the_sign_in_page(gateway: "Gateway") -> None:
    answer = gateway.ask("GET", f"/view?ticket=tk-{'x' * 43}", BROWSER)
    assert (answer.status, answer.content) == (401, (WEB / "login/index.html").read_bytes())
