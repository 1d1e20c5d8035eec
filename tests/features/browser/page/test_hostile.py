"""Pages that make what is read of them as bad as they can."""

from collections.abc import Awaitable
from typing import Any

import pytest

from sandbox_server.core.errors import Failure
from sandbox_server.core.http.response_encoding import json_bytes
from sandbox_server.core.results import Blob
from sandbox_server.drivers.browser import elements, session
from sandbox_server.features.browser.page import page_operation
from tests.features.browser.driven import Pages

pytestmark = pytest.mark.anyio

READERS = (
    "GET page/elements",
    "GET page/text",
    "GET page/markdown",
    "GET page/html",
    "POST page/find_text",
    "GET tools/links",
    "GET tools/elements",
    "GET captcha/detect",
    "GET page/screenshot",
)
LIES = {
    "pushes": "Array.prototype.push = function () { this[0] = {number: {}, tag: 5, x: NaN, name: 'x'.repeat(1e6)}; return 1 }",
    "maps": "Map.prototype.get = () => ({}); WeakMap.prototype.get = () => 'no'; Array.prototype.map = () => [1, {}, null]",
    "json": "Object.prototype.toJSON = () => 5; Array.prototype.toJSON = () => 'x'; String.prototype.slice = function () { return {} }",
    "boxes": "Element.prototype.getBoundingClientRect = () => ({x: 'x', y: NaN, width: -1e308, height: Infinity})",
    "texts": "String.prototype.replace = () => ({trim: () => [1]}); String.prototype.toLowerCase = () => ({indexOf: () => -1})",
    "document": "for (const name of ['body', 'documentElement', 'title']) Object.defineProperty(document, name, {get: () => ({})})",
    "roots": "document.querySelectorAll = Element.prototype.querySelectorAll = () => [{}, 5, null]",
    "iterators": "Array.prototype[Symbol.iterator] = function* () { yield {}; yield 5 }",
}


async def tried(call: Awaitable[Any]) -> Any:
    """What a call gives, or the message of a failure that is not ours."""
    try:
        return await call
    except Failure as failure:
        if failure.status >= 500:
            raise
        return failure.message


async def expect_clear(pages: Pages, route: str) -> None:
    """Read a page; what comes is an answer that can be written, or an error that is not a defect of ours."""
    fields = {"keyword": "to"} if "find" in route else {}
    answer = await tried(pages(route, **fields))
    assert isinstance(answer, Blob) or json_bytes(answer), route


@pytest.mark.parametrize("lie", sorted(LIES))
async def test_a_page_that_lies_gets_an_answer_or_a_clear_error(pages: Pages, lie: str) -> None:
    await pages.visit("/")
    await pages.js(f"void setTimeout(() => {{ {LIES[lie]} }}, 0)")
    for route in READERS:
        await expect_clear(pages, route)


@pytest.mark.parametrize(
    "value",
    [
        "'\\ud800'",
        "({'\\udfff': ['\\ud800']})",
        "NaN",
        "[1e308, -0, Infinity]",
        "10n ** 500n",
        "10n ** 5000n",
        "new Date(NaN)",
        "new Date(8.64e15)",
        "new Error('x')",
        "new Uint8Array(3)",
        "new URL('http://x/')",
        "/x/g",
        "Symbol('x')",
        "window",
        "(() => { const list = []; list.push(list); return list })()",
        "(() => { let deep = []; for (let i = 0; i < 500; i++) deep = [deep]; return deep })()",
        "(() => { let deep = []; for (let i = 0; i < 3000; i++) deep = [deep]; return deep })()",
        "(() => { let deep = []; for (let i = 0; i < 100000; i++) deep = [deep]; return deep })()",
        "(() => { let wide = [1]; for (let i = 0; i < 60; i++) wide = [wide, wide]; return wide })()",
        "'x'.repeat(70e6)",
        "new Proxy({}, {ownKeys: () => { throw 5 }})",
        "({get x() { return 'x'.repeat(1e8) }, toJSON() { return 5 }})",
    ],
)
async def test_whatever_a_script_gives_is_an_answer_or_a_clear_error(pages: Pages, value: str) -> None:
    json_bytes(await tried(pages.js(value)))

    assert await pages.js("1 + 1", timeout=30) == 2


async def test_a_value_over_the_limit_is_too_large(pages: Pages) -> None:
    failure = await pages.fails("POST page/evaluate", expression="'x'.repeat(70e6)")

    assert failure.status == 413
    assert "The result is over 67108864 bytes" in failure.message


async def test_long_addresses_are_cut_and_links_that_are_left_out_are_counted(pages: Pages) -> None:
    await pages.visit("/")
    await pages.js("void (document.body.innerHTML = `<a href='data:,${'x'.repeat(1e6)}'>long</a>`)")
    [element] = await pages("GET page/elements")
    [link] = await pages("GET tools/links")
    await pages.js("void (document.body.innerHTML = Array.from({length: 1005}, (_, n) => `<a href=/${n}>x</a>`).join(''))")
    links = await pages("GET tools/links")

    assert (len(element.href), element.href[-1], len(link.href), link.href[-1]) == (8193, "…", 8193, "…")
    assert (len(links), "5 more links were not listed." in (pages.hint or "")) == (1000, True)


async def test_of_frames_without_end_some_are_looked_into_and_it_says_so(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (page_operation, elements, session):
        monkeypatch.setattr(module, "MAX_FRAMES", 3)
    await pages.visit("/")
    await pages.js("void (document.body.innerHTML = '<iframe srcdoc=framed></iframe>'.repeat(5))")
    await pages.js("new Promise(done => setTimeout(done))")
    text = await pages("GET page/text")

    assert text.count("framed") <= 2
    assert "A page has 6 frames, of which 3 are looked into." in (pages.hint or "")
    assert await pages("GET page/elements") == []
