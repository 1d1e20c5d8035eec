"""How often, and about how much, a person is asked to allow something, whatever the agent does."""

import re
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from sandbox_server.core.approval import ON_DESKTOP, ApprovalQuestion
from sandbox_server.core.quota import owner_of

MAX_OPEN = 20
"""Questions that may be open at once."""
MAX_OPEN_OF_ONE = 8
"""The same of one asker."""
MAX_PER_MINUTE = 60
MAX_PER_MINUTE_OF_ONE = 30
MAX_DETAILS = 12
MAX_DETAIL = 8000
"""Characters of a detail, once they are all visible. Who cannot see all of it cannot allow it."""
MAX_REASON = 300
REFUSED_SECONDS = 60.0
"""How long what a person denied is not asked again."""
MAX_REMEMBERED = 256
_MINUTE = 60.0
_NAME = re.compile(r"[a-z][a-z_]{0,31}")

type QuestionKey = tuple[object, ...]


class ApprovalLimits:
    """Counts questions by asker, and remembers which were denied lately."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._asked: deque[tuple[float, str]] = deque()
        self._denied: OrderedDict[QuestionKey, tuple[float, str]] = OrderedDict()

    def refusal(self, question: ApprovalQuestion, details: Mapping[str, str], opened: list[str]) -> str:
        """Return why the question may not be asked, or an empty text. `opened` are the askers of the open ones."""
        if len(details) > MAX_DETAILS or any(not _NAME.fullmatch(name) for name in details):
            return "its details cannot be shown to a person"
        if long := next((name for name, text in details.items() if len(text) > MAX_DETAIL), None):
            return f"its {long} is too long for a person to read: at most {MAX_DETAIL} characters"
        return self._denied_lately(question) or self._too_many(owner_of(question.asked_by, person=False), opened)

    def asked(self, question: ApprovalQuestion) -> None:
        """Count a question."""
        self._asked.append((self._now(), owner_of(question.asked_by, person=False)))

    def denied(self, question: ApprovalQuestion, by: str) -> None:
        """Remember that a person denied it."""
        self._denied[key_of(question)] = (self._now() + REFUSED_SECONDS, by)
        self._denied.move_to_end(key_of(question))
        if len(self._denied) > MAX_REMEMBERED:
            self._denied.popitem(last=False)

    def _denied_lately(self, question: ApprovalQuestion) -> str:
        until, by = self._denied.get(key_of(question), (0.0, ""))
        return f"{by} denied the same less than {REFUSED_SECONDS:g} seconds ago" if until > self._now() else ""

    def _too_many(self, owner: str, opened: list[str]) -> str:
        if _too_many_of(owner, [owner_of(each, person=False) for each in opened], MAX_OPEN, MAX_OPEN_OF_ONE):
            return "too many questions are open"
        while self._asked and self._asked[0][0] <= self._now() - _MINUTE:
            self._asked.popleft()
        if _too_many_of(owner, [each for _, each in self._asked], MAX_PER_MINUTE, MAX_PER_MINUTE_OF_ONE):
            return "too many questions were asked in the last minute"
        return ""


def _too_many_of(owner: str, askers: list[str], most: int, most_of_one: int) -> bool:
    """Whether an asker has its share, or all programs have theirs. The desktop, where a person may be, is limited by its own alone."""
    own = askers.count(owner)
    return own >= most_of_one or (owner != ON_DESKTOP and len(askers) - askers.count(ON_DESKTOP) >= most)


def key_of(question: ApprovalQuestion) -> QuestionKey:
    """Return what makes two questions the same: what is asked, by whom, and by which rule."""
    return (question.subject, question.rule, question.asked_by, question.private, *sorted(question.details.items()))
