"""`<tandem-view>` of the TypeScript package, on a page of somebody else's."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.client_tarball import installed_tarball
from tests.image.container import Sandbox
from tests.patience import until

PAGE = """<!doctype html><title>mine</title><style>tandem-view { width: 800px; height: 640px }</style>
<script type="module">
import { Sandbox, HeldByPerson } from "/node_modules/tandem-client/dist/index.js";
import { TandemView } from "/node_modules/tandem-client/dist/view.js";
const view = document.querySelector("tandem-view");
view.addEventListener("state", (event) => (document.body.dataset.state = event.detail.state));
document.body.dataset.loaded = view instanceof TandemView && new Sandbox({ url: "http://a", key: "" }).url;
</script>
<tandem-view src="%s"></tandem-view>"""


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[str, Path]]:
    """A web server of somebody else's with the package, and its folder."""
    with installed_tarball() as folder:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}", folder
            server.shutdown()


def test_the_element_shows_the_desktop_and_types_on_a_page_of_another_origin(
    browser: Browser, sandbox: Sandbox, site: tuple[str, Path]
) -> None:
    address, folder = site
    field = "data:text/html,<title>-</title><textarea style='position:fixed;inset:0' autofocus oninput='document.title=value'></textarea>"
    sandbox.request("POST", "/v1/browser/page/navigate", json={"url": field}).raise_for_status()
    ticket = sandbox.request("POST", "/tickets", json={"path_prefix": "/stream/"}).json()["ticket"]
    socket = f"{sandbox.base_url.replace('http', 'ws', 1)}/stream/socket?ticket={ticket}"
    (folder / "index.html").write_text(PAGE % socket)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        page.locator("body[data-state=connected]").wait_for()
        assert page.get_attribute("body", "data-loaded") == "http://a"
        view = page.locator("tandem-view")
        view.click(position={"x": 400, "y": 320})
        page.keyboard.type("hello")
        until(lambda: sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": "document.title"}).json()["data"] == "hello")
