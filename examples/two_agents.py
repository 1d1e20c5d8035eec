"""Two agents in one browser at once, each in a lane: a window, tabs and cookies of its own."""

import os
from concurrent.futures import ThreadPoolExecutor

import httpx
from playwright.sync_api import sync_playwright

URL = os.environ.get("SANDBOX_URL", "http://127.0.0.1:8080")
HEADERS = {"Authorization": f"Bearer {os.environ['SANDBOX_API_KEY']}"}
LANES = ("ann", "bob")
ACTS = 100
PAGE = """<title>0</title><button onclick="document.title++">one more</button><pre></pre>
<script>document.querySelector('pre').textContent = 'for {lane}'</script>"""


def work(lane: str) -> str:
    """Click in a page of a lane's own; return what the page counted, and which pages and cookies the agent saw."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(f"{URL}/cdp?lane={lane}", headers=HEADERS)
        [context] = browser.contexts
        page = context.pages[0]
        page.set_content(PAGE.replace("{lane}", lane))
        context.add_cookies([{"name": "agent", "value": lane, "url": "https://example.org"}])
        for _ in range(ACTS):
            page.click("button")
        pages = [each.inner_text("pre") for each in context.pages]
        cookies = [cookie["value"] for cookie in context.cookies()]
        return f"{lane}: {page.title()} of {ACTS} clicks, pages {pages}, cookies {cookies}"


with httpx.Client(base_url=URL, headers=HEADERS, timeout=60) as sandbox:
    for lane in LANES:
        sandbox.post("/v1/lanes", json={"name": lane}).raise_for_status()
    try:
        with ThreadPoolExecutor() as threads:
            for told in threads.map(work, LANES):
                print(told)
    finally:
        for lane in LANES:
            sandbox.delete(f"/v1/lanes/{lane}")
