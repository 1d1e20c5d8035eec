"""Turn a web site into Markdown files: the browser loads each page, a kernel converts it, and the files stay in the sandbox."""

import os
from urllib.parse import urljoin, urlsplit

from agent_sandbox import Sandbox
from playwright.sync_api import Page, sync_playwright

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
HEADERS = {"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"}
SITE = os.environ.get("SITE", "https://example.org/")
FOLDER = "/home/gem/site"
MAX_PAGES = 20
CONVERT = """
import re, pathlib
from markdownify import markdownify
text = markdownify(html, heading_style="ATX")
path = pathlib.Path(folder, name)
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(re.sub(r"\\n{3,}", "\\n\\n", text).strip() + "\\n")
f"{path}: {path.stat().st_size} bytes"
"""


def links(page: Page) -> list[str]:
    """The pages of the same site that a page leads to, without what follows a `#`."""
    found = page.eval_on_selector_all("a[href]", "links => links.map(link => link.getAttribute('href'))")
    addresses = (urljoin(page.url, each).partition("#")[0] for each in found)
    return [each for each in addresses if urlsplit(each).netloc == urlsplit(SITE).netloc]


def name_of(address: str) -> str:
    """The file of a page."""
    return (urlsplit(address).path.strip("/") or "index").removesuffix(".html") + ".md"


sandbox = Sandbox(base_url=URL, headers=HEADERS)
kernel = sandbox.jupyter.create_session().data.session_id
with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(URL, headers=HEADERS)
    page = browser.contexts[0].new_page()
    waiting, seen = [SITE], {SITE}
    while waiting and len(seen) <= MAX_PAGES:
        page.goto(waiting.pop(0))
        fresh = [each for each in dict.fromkeys(links(page)) if each not in seen]
        page.eval_on_selector_all("nav, script, style", "all => all.forEach(each => each.remove())")
        code = f"html, folder, name = {page.content()!r}, {FOLDER!r}, {name_of(page.url)!r}\n{CONVERT}"
        result = sandbox.jupyter.execute_code(code=code, session_id=kernel).data
        print(result.outputs[-1].data["text/plain"] if result.status == "ok" else result.outputs)
        waiting += fresh
        seen |= set(fresh)
    page.close()

print(sandbox.file.read_file(file=f"{FOLDER}/index.md").data.content)
