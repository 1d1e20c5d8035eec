"""The pages hold to their own Content-Security-Policy: nothing from elsewhere, no script in the page, every file there."""

import re
from html.parser import HTMLParser
from pathlib import Path

import sandbox_server
from sandbox_server.features.auth.paths import OPEN
from tests.tables import table_test

WEB = Path(sandbox_server.__file__).parent / "web"
MAPS = WEB.parent.parent / "nginx/snippets/maps.conf"
VENDOR = "/static/vendor/"
PAGES = sorted(WEB.rglob("*.html"))
SCRIPTS = [script for script in sorted(WEB.rglob("*.js")) if WEB / "vendor" not in script.parents]


class Links(HTMLParser):
    """What a page loads, and what it should not hold."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.inline: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses of scripts, styles and icons, and the attributes that are scripts."""
        named = dict(attrs)
        self._in_script = tag in ("script", "style")
        address = named.get("src") or (named.get("href") if tag == "link" else None)
        if address and not address.startswith("data:"):
            self.loaded.append(address)
        self.inline += [name for name in named if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        """Note a script that stands in the page."""
        if self._in_script and data.strip():
            self.inline.append(data.strip()[:40])

    def handle_endtag(self, tag: str) -> None:
        """Leave a script."""
        self._in_script = False


def read(page: Path) -> Links:
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def exists(address: str) -> bool:
    return address.startswith(VENDOR) or (address.startswith("/static/") and (WEB / address.removeprefix("/static/")).is_file())


def is_beside(script: Path, address: str) -> bool:
    """Whether a script names another of its own folder's tree, as modules do that run elsewhere, too."""
    found = (script.parent / address).resolve()
    return address.startswith(".") and WEB in found.parents and found.is_file()


@table_test({str(page.relative_to(WEB)): page for page in PAGES})
def test_a_page_loads_only_files_of_ours_that_are_there(page: Path) -> None:
    links = read(page)
    assert links.inline == []
    assert [address for address in links.loaded if not exists(address)] == []


@table_test({str(script.relative_to(WEB)): script for script in SCRIPTS})
def test_a_script_imports_only_files_of_ours_that_are_there(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    imported = re.findall(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""", text)
    assert [address for address in imported if not (exists(address) or is_beside(script, address))] == []
    assert re.findall(r"https?://(?!www\.w3\.org|example\.org)", text) == []


def loaded_by(addresses: set[str]) -> set[str]:
    """These files of ours, and every module that they import, at once or when it is needed."""
    found, waiting = set[str](), set(addresses)
    while waiting:
        address = waiting.pop()
        found.add(address)
        script = WEB / address.removeprefix("/static/")
        if script.suffix == ".js":
            code = re.sub(r"/\*\*.*?\*/", "", script.read_text(encoding="utf-8"), flags=re.DOTALL)  # types are not loaded
            imported = re.findall(r"""(?:from |import\()["']([^"']+)["']""", code)
            absolute = {
                each if each.startswith("/") else f"/static/{(script.parent / each).resolve().relative_to(WEB)}" for each in imported
            }
            waiting |= absolute - found
    return found


def test_the_sign_in_page_needs_nothing_that_needs_signing_in() -> None:
    assert loaded_by(set(read(WEB / "login/index.html").loaded)) <= OPEN


def test_the_error_pages_need_nothing_that_needs_signing_in() -> None:
    loaded = set(re.findall(r"""(?:src|href)="(/static/[^"]+)\"""", MAPS.read_text(encoding="utf-8")))
    assert "/static/error/error.js" in loaded
    assert loaded_by(loaded) <= OPEN
