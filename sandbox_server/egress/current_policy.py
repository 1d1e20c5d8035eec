"""The policy in force: read from its file at the start, replaced as a whole, and told to those whose flows it may end."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from sandbox_server.drivers.egress.policy import Destination, EgressDecision, EgressPolicy, HttpRequest, OrderedRules
from sandbox_server.drivers.egress.policy_document import EgressPolicyError, parse_policy
from sandbox_server.drivers.egress.protected_addresses import Address
from sandbox_server.drivers.storage import atomic_write

MAX_TASKS = 256
MAX_GRANTS = 256
"""Rules of approvals that may be in front of the policy."""
_MAX_TASK_NAME = 256


class CurrentPolicy:
    """Holds the policy and the tasks that run. Without a readable file everything is denied."""

    def __init__(self, path: str | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self.policy = EgressPolicy()
        """What decides: the rules of approvals, then the document's."""
        self._own = self.policy
        self._grants = OrderedRules()
        self._text = ""
        self.tasks: frozenset[str] = frozenset()
        self.problem = ""
        """Why the file was not read; empty if it was, or if there is none."""
        self.on_change: Callable[[], None] = lambda: None
        if path:
            self._read(Path(path))

    def decide(self, destination: Destination, request: HttpRequest | None = None) -> EgressDecision:
        """Decide now on a connection, or on a request of one whose requests are read."""
        return self.policy.decide(destination, tasks=self.tasks, now=self._clock(), request=request)

    def address_refusal(self, address: Address, destination: Destination) -> EgressDecision | None:
        """Decide now on an address that an allowed name resolved to."""
        return self.policy.address_refusal(address, destination, tasks=self.tasks, now=self._clock())

    def replace(self, text: str, policy: EgressPolicy) -> None:
        """Put a policy in force and keep its text for the next process. Raises OSError, and then the old one stands."""
        if self._path:
            atomic_write.replace(self._path, text, mode=0o640)
        else:
            self._text = text
        self._own, self.problem = policy, ""
        self._combine()

    def grant(self, rules: OrderedRules) -> None:
        """Put the rules of approvals in front of the document's, in the place of the earlier ones. Raises ValueError."""
        if len(rules.rules) > MAX_GRANTS:
            raise ValueError(f"at most {MAX_GRANTS} approvals hold at once")
        self._grants = rules
        self._combine()

    @property
    def grants(self) -> int:
        """How many rules of approvals there are."""
        return len(self._grants.rules)

    def text(self) -> str:
        """Return the document in force as JSON; an empty object while there is none. Raises OSError."""
        try:
            text = Path(self._path).read_text("utf-8") if self._path and not self.problem else self._text
        except FileNotFoundError:
            text = ""
        return text or "{}"

    def _combine(self) -> None:
        self.policy = replace(self._own, temporary=self._grants)
        self.on_change()

    def run_tasks(self, tasks: Iterable[object]) -> None:
        """Say which tasks run from now on. Raises ValueError."""
        found = frozenset(task for task in tasks if isinstance(task, str) and 0 < len(task) <= _MAX_TASK_NAME)
        if len(found) > MAX_TASKS:
            raise ValueError(f"at most {MAX_TASKS} tasks run at once")
        self.tasks = found
        self.on_change()

    def seconds_to_change(self) -> float | None:
        """Seconds until a rule stops to hold; None if none does."""
        now = self._clock()
        change = self.policy.next_change(now)
        return None if change is None else change - now

    def _read(self, path: Path) -> None:
        try:
            self.policy = self._own = parse_policy(path.read_bytes())
        except FileNotFoundError:
            return
        except (OSError, EgressPolicyError) as error:
            self.problem = str(error)
