"""Extensions, where they are allowed, and where they are not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cdp.test_takeover import OURS, held
from tests.patience import until

BrowserServer = Any


def extension(browser_server: BrowserServer, **manifest: object) -> str:
    """A folder with an extension that writes into every page."""
    folder = Path(browser_server.folder) / "extension"
    folder.mkdir(exist_ok=True)
    (folder / "mark.js").write_text("document.documentElement.dataset.marked = 'yes'")
    scripts = [{"matches": ["<all_urls>"], "js": ["mark.js"], "run_at": "document_start"}]
    (folder / "manifest.json").write_text(
        json.dumps({"manifest_version": 3, "name": "Mark", "version": "1", "content_scripts": scripts, **manifest})
    )
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    return str(folder)


def marked(browser_server: BrowserServer, site: str) -> bool:
    """Whether the extension writes into a page that is opened now."""
    with browser_server.connect(headers=OURS) as client:
        target = client.result("Target.createTarget", url=site)["targetId"]
        session = client.attach(target)
        until(lambda: client.seen("document.title", session))
        found = client.seen("document.documentElement.dataset.marked === 'yes'", session)
        client.result("Target.closeTarget", targetId=target)
        return bool(found)


def test_none_is_loaded_unless_it_is_allowed(make_browser_server: Callable[..., BrowserServer]) -> None:
    browser_server = make_browser_server()
    browser_server.start()
    until(browser_server.answers)
    with browser_server.connect() as client:
        refused = client.command("Extensions.loadUnpacked", path=extension(browser_server))
        assert "BROWSER_EXTENSIONS" in refused["error"]["message"]
    with browser_server.connect(headers=OURS) as client:
        target = client.result("Target.createTarget", url="chrome://extensions")["targetId"]
        session = client.attach(target)
        until(lambda: client.seen("document.readyState === 'complete' && location.href", session))
        assert not client.seen("location.protocol === 'chrome:' && !!chrome.developerPrivate", session), "by the GUI neither"
        client.result("Target.closeTarget", targetId=target)


def test_an_allowed_extension_is_stopped_while_a_person_has_the_pages(make_browser_server: Callable[..., BrowserServer], site: str) -> None:
    browser_server = make_browser_server(extensions=True)
    browser_server.start()
    until(browser_server.answers)
    with browser_server.connect() as client:
        client.result("Extensions.loadUnpacked", path=extension(browser_server))
        until(lambda: marked(browser_server, site))
        with held(browser_server):
            assert not marked(browser_server, site)
        until(lambda: marked(browser_server, site))
        refused = client.command("Extensions.loadUnpacked", path=extension(browser_server, permissions=["debugger"]))
        assert "error" in refused, "it would drive pages past the lease"
