"""What happened in the browser beside what a caller asked for; the next answer's hint tells it."""

from collections import deque
from collections.abc import Sequence

from sandbox_server.drivers.browser.owner import Tab

MAX_NOTICES = 20
MAX_NAMED = 5
"""New tabs told one by one; of more only their number is told."""


class Notices:
    """Sentences that nobody was told yet; of too many the oldest are lost."""

    def __init__(self) -> None:
        self._told: deque[str] = deque(maxlen=MAX_NOTICES)
        self._known: set[str] | None = None

    def add(self, sentence: str) -> None:
        """Keep a sentence for the next hint."""
        self._told.append(sentence)

    def know(self, page: str) -> None:
        """A tab that the caller opened is no news."""
        if self._known is not None:
            self._known.add(page)

    def see(self, tabs: Sequence[Tab]) -> None:
        """Compare the tabs with those seen last."""
        known, self._known = self._known, {tab.page for tab in tabs}
        if known is None:
            return
        new = [(index, tab) for index, tab in enumerate(tabs) if tab.page not in known]
        if len(new) > MAX_NAMED:
            self.add(f"{len(new)} tabs were opened, {new[0][0]} to {new[-1][0]}.")
        else:
            for index, tab in new:
                self.add(f"A tab was opened: {index}{' (in front)' if tab.active else ''}, {tab.url or 'about:blank'}")

    def take(self) -> str | None:
        """Everything not told yet, as one hint."""
        hint = " ".join(self._told) or None
        self._told.clear()
        return hint
