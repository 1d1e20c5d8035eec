"""Who may move the computer: what every write path asks, whatever keeps the lease."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sandbox_server.core.errors import HeldByHuman, Private
from sandbox_server.core.identity import Caller

type Reach = Literal["gui", "cdp", "shell"]
"""What a lease may cover: mouse and keyboard of the screen, the browser's pages, and what runs programs."""
type State = Literal["agent", "human", "shared", "frozen"]

ALL_REACHES: frozenset[Reach] = frozenset({"gui", "cdp", "shell"})
ON_SCREEN: frozenset[Reach] = frozenset({"gui", "cdp"})
"""What goes together: the pages are on the screen."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Who may act, as every process of ours has to know it.

    `epoch` is a fencing number: it grows with every change of who may act, and never falls.
    """

    epoch: int = 1
    state: State = "agent"
    holder: str | None = None
    """The person who holds the lease; None unless `state` is human."""
    reach: frozenset[Reach] = frozenset()
    """What the person holds; programs go on with the rest."""
    private: str | None = None
    """The person who alone sees the screen and the pages now, and what comes of them; None: everybody does."""

    def sees(self, caller: Caller) -> bool:
        """Whether the caller may see the screen and the pages; a program may not, whatever its name, while a person is private."""
        return self.private is None or (caller.person and caller.name == self.private)

    def check_seen(self, caller: Caller) -> None:
        """Raise Private for who may not see the screen and the pages now."""
        if not self.sees(caller):
            raise self.hidden()

    def hidden(self) -> Private:
        """Why nothing is shown now."""
        return Private(
            f"private: {self.private} does something that nobody else sees; nothing of the screen and the pages is shown until that ends",
            hint="GET /v1/control tells when it has ended: its `private` is null then.",
            reason="private",
            epoch=self.epoch,
            holder=self.holder,
        )

    def admits(self, caller: Caller, reach: Reach) -> bool:
        """Whether one call of an operation may act now. A person's call may, where no other person holds what it acts on."""
        if self.state == "frozen":
            return False
        return self.state != "human" or reach not in self.reach or self.is_holder(caller)

    def admits_all(self, caller: Caller, reaches: Iterable[Reach]) -> bool:
        """Whether one call of an operation that acts on several things may act on each of them now."""
        return all(self.admits(caller, reach) for reach in reaches)

    def drives(self, caller: Caller, reach: Reach) -> bool:
        """Whether a stream of input counts: a program's unless a person holds this, a person's only with the lease."""
        if not caller.person:
            return self.admits(caller, reach)
        return self.state == "shared" or (self.is_holder(caller) and reach in self.reach)

    def left_to_programs(self, reach: Reach) -> bool:
        """Whether programs act on this, and no person has it beside them or instead."""
        return self.state == "agent" or (self.state == "human" and reach not in self.reach)

    def is_holder(self, caller: Caller) -> bool:
        """Whether the caller is the person who holds it; a program of the same name is not."""
        return caller.person and self.state == "human" and caller.name == self.holder

    def refusal(self, outcome: str | None = None) -> HeldByHuman:
        """Why an action is refused now; `outcome` tells what became of one that had begun."""
        who = "control is frozen" if self.state == "frozen" else f"{self.holder} has control"
        details: dict[str, object] = {"reason": "held_by_human"} | self._held() | ({} if outcome is None else {"outcome": outcome})
        return HeldByHuman(
            f"{who}: {'this was interrupted, and may have been done in part' if outcome else 'nothing was done'}",
            hint="Reads go on. Send it again with ?wait=SECONDS to wait for control; look again before you act on what you saw before.",
            **details,  # type: ignore[arg-type] # none of them is named like a parameter of its own
        )

    def dumps(self) -> dict[str, Any]:
        """As JSON's types, for another process."""
        return self._held() | {"private": self.private}

    def _held(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "state": self.state, "holder": self.holder, "reach": sorted(self.reach)}

    @classmethod
    def loads(cls, value: Any) -> "Holding":
        """Read what `dumps` made; raises TypeError, KeyError or ValueError for anything else."""
        return cls(int(value["epoch"]), value["state"], value["holder"], frozenset(value["reach"]), value.get("private"))


class Control(Protocol):
    """The lease as a stream of a person's or a program's input meets it."""

    def drives(self, caller: Caller, reach: Reach) -> bool:
        """Whether the caller's input counts now."""

    async def drive(self, caller: Caller, reach: Reach) -> bool:
        """Take an input that means to act: whether it counts. A person's first one takes the lease, where the settings let it."""

    async def changed(self) -> None:
        """Wait until somebody else may act."""

    def sees(self, caller: Caller) -> bool:
        """Whether the caller may see the screen and the pages now."""

    def note(self, caller: Caller, what: str, count: int) -> None:
        """Tell that the caller put in so many keys, clicks and the like: how many, never which."""

    def entered(self, caller: Caller, session: str, line: str) -> None:
        """Tell that the caller entered a line at the prompt of a shell session."""

    def watching(self, caller: Caller) -> AbstractContextManager[None]:
        """While it is open the caller has a viewer: a person's lease ends a while after the last one is closed."""
