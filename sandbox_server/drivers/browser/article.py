"""The main content of a page as Markdown: Readability in the page, then markdownify in a process of its own (`page_markdown`)."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from sandbox_server.core.errors import TooLarge, Unavailable
from sandbox_server.drivers.browser import page_markdown
from sandbox_server.drivers.browser.script_results import answer
from sandbox_server.drivers.ipc import private_memory
from sandbox_server.drivers.spawn import confined_program
from sandbox_server.drivers.spawn.process import Processes

if TYPE_CHECKING:
    from playwright.async_api import Frame

MAX_HTML = 8_000_000
"""Characters of markup that are converted."""
SECONDS = 30.0

_SOURCE = Path(__file__).parent / "vendor" / "Readability.js"
_PARSE = """
() => {
  const module = {exports: {}};
  %s
  let article = null;
  try {
    article = new Readability(document.cloneNode(true)).parse();
  } catch {}  // a document that it cannot make sense of is taken whole
  const whole = document.body ? document.body.cloneNode(true) : document.documentElement.cloneNode(true);
  whole.querySelectorAll('script, style, noscript, template, svg').forEach((element) => element.remove());
  const complete = (root, selector, name) => root.querySelectorAll(selector).forEach((element) => {
    try {
      element.setAttribute(name, new URL(element.getAttribute(name), document.baseURI).href);
    } catch {}  // an address that is none stays as it is
  });
  complete(whole, 'a[href]', 'href');
  complete(whole, 'img[src]', 'src');
  return {
    title: article?.title || document.title,
    html: article?.content || whole.innerHTML,
    readable: Boolean(article?.content),
    byline: article?.byline ?? null,
    excerpt: article?.excerpt ?? null,
    site_name: article?.siteName ?? null,
    language: article?.lang || document.documentElement.lang || null,
    url: location.href,
  };
}
"""


@dataclass(frozen=True, slots=True)
class Article:
    """The main content of a page; all of it where none was found, which `readable` tells."""

    title: str
    content: str
    """Markdown."""
    url: str
    readable: bool
    byline: str | None
    excerpt: str | None
    site_name: str | None
    language: str | None


class _Parsed(TypedDict):
    """What the script answers."""

    html: str
    title: str
    url: str
    readable: bool
    byline: str | None
    excerpt: str | None
    site_name: str | None
    language: str | None


class Readable:
    """Makes Markdown of pages."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def read(self, frame: "Frame") -> Article:
        """The content of a frame.

        Raises TooLarge for more than MAX_HTML characters of markup, InvalidArgument for what takes more than SECONDS or is too deep.
        """
        found: dict[str, Any] = {**await answer(frame, _parser(), None, _Parsed)}
        html = found.pop("html")
        if len(html) > MAX_HTML:
            raise TooLarge(f"the page has {len(html)} characters of markup; at most {MAX_HTML} are converted")
        return Article(content=await self._markdown(html), **found)

    async def _markdown(self, html: str) -> str:
        with os.fdopen(private_memory.create("page"), "w+b") as file:
            file.write(html.encode("utf-8", "replace"))
            file.seek(0)
            found = await confined_program.answer(self._processes, page_markdown.__file__, {}, file.fileno(), seconds=SECONDS)
        return str(found["text"])


@cache
def _parser() -> str:
    try:
        return _PARSE % _SOURCE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Unavailable("Readability is not in this image") from None
