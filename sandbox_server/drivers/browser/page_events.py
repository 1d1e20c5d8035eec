"""Events that no caller asked for, such as an opened tab. The hint of each caller's next answer names them."""

from collections import OrderedDict, deque
from collections.abc import Sequence, Set
from contextvars import ContextVar

from sandbox_server.drivers.browser.browser_client import BrowserTab

MAX_NOTICES = 20
MAX_NAMED = 5
"""New tabs told one by one; of more only their number is told."""
MAX_LISTENERS = 1000
MAX_URL = 500
"""Characters of an address in a hint; of a longer one the beginning."""

_listener: ContextVar[str] = ContextVar("listener", default="")


class BrowserNotices:
    """Sentences, each told once to everybody who called before it was noticed; of too many the oldest are lost."""

    def __init__(self) -> None:
        self._noticed: deque[tuple[int, str]] = deque(maxlen=MAX_NOTICES)
        self._last = 0
        self._heard: OrderedDict[str, int] = OrderedDict()
        self._known: set[str] | None = None

    def listen(self, name: str) -> None:
        """Give this task's hints to a caller of that name, from what is noticed from now on, or since it was told last."""
        _listener.set(name)
        self._heard.setdefault(name, self._last)
        while len(self._heard) > MAX_LISTENERS:
            self._heard.popitem(last=False)

    def add(self, sentence: str) -> None:
        """Keep a sentence for the next hint."""
        self._last += 1
        self._noticed.append((self._last, sentence))

    def know(self, page: str) -> None:
        """A tab that the caller opened is no news."""
        if self._known is not None:
            self._known.add(page)

    def misses(self, pages: Set[str]) -> bool:
        """Whether there are pages that were not among the tabs seen last."""
        return self._known is None or not pages <= self._known

    def see(self, tabs: Sequence[BrowserTab]) -> None:
        """Compare the tabs with those seen last."""
        known, self._known = self._known, {tab.page for tab in tabs}
        if known is None:
            return
        new = [(index, tab) for index, tab in enumerate(tabs) if tab.page not in known]
        if len(new) > MAX_NAMED:
            self.add(f"{len(new)} tabs were opened, {new[0][0]} to {new[-1][0]}.")
        else:
            for index, tab in new:
                self.add(f"A tab was opened: {index}{' (in front)' if tab.active else ''}, {shortened(tab.url or 'about:blank')}")

    def take(self) -> str | None:
        """Everything that this task's caller was not told yet, as one hint."""
        heard = self._heard.pop(_listener.get(), 0)
        self._heard[_listener.get()] = self._last
        return " ".join(sentence for number, sentence in self._noticed if number > heard) or None


def shortened(url: str) -> str:
    """A URL of which a page may have made a book, for an agent to read."""
    return url if len(url) <= MAX_URL else f"{url[:MAX_URL]}…"
