"""The state of the lease: who may act and who may see. Every way to act checks it."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sandbox_server.core.errors import HeldByHuman, Private
from sandbox_server.core.identity import Caller

type Reach = Literal["gui", "cdp", "shell"]
"""What a lease may cover: the screen's mouse and keyboard, the browser's pages, and everything that runs programs."""
type State = Literal["agent", "human", "shared", "frozen"]

ALL_REACHES: frozenset[Reach] = frozenset({"gui", "cdp", "shell"})
ON_SCREEN: frozenset[Reach] = frozenset({"gui", "cdp"})
"""The reaches that belong together, because the pages are on the screen."""


def shown_to(private: str | None, caller: Caller) -> bool:
    """Whether what was caused in the private time of a person may be shown to a caller: to that person alone, and to no program.

    `private` is None for what everybody may see, and empty for what was of two people's time, which nobody may. This is the
    one rule for screen, pages, questions, connections and records.
    """
    return private is None or (caller.person and caller.name == private != "")


@dataclass(frozen=True, slots=True)
class Holding:
    """Who may act, as every process of the server gets it.

    `epoch` is a fencing number: it grows with every change of who may act, and never falls.
    """

    epoch: int = 1
    state: State = "agent"
    holder: str | None = None
    """The person who holds the lease; None unless `state` is `human`."""
    reach: frozenset[Reach] = frozenset()
    """What the person holds. Programs may use the rest."""
    private: str | None = None
    """The person in private mode, who alone sees the screen and the pages; None if everyone may see them."""

    def sees(self, caller: Caller) -> bool:
        """Whether the caller may see the screen and the pages. In private mode no program may, whatever its name."""
        return shown_to(self.private, caller)

    def check_seen(self, caller: Caller) -> None:
        """Raise Private if the caller may not see the screen and the pages now."""
        if not self.sees(caller):
            raise self.hidden()

    def hidden(self) -> Private:
        """The error for callers who may not see them."""
        return Private(
            f"private: {self.private} does something that nobody else sees; nothing of the screen and the pages is shown until that ends",
            hint="GET /v1/control tells when it has ended: its `private` is null then.",
            reason="private",
            epoch=self.epoch,
            holder=self.holder,
        )

    def admits(self, caller: Caller, reach: Reach) -> bool:
        """Whether one call of an operation may act now.

        A person's call may, unless another person holds what it acts on.
        """
        if self.state == "frozen":
            return False
        return self.state != "human" or reach not in self.reach or self.is_holder(caller)

    def admits_all(self, caller: Caller, reaches: Iterable[Reach]) -> bool:
        """Whether one call of an operation may act now on everything in `reaches`."""
        return all(self.admits(caller, reach) for reach in reaches)

    def drives(self, caller: Caller, reach: Reach) -> bool:
        """Whether input of a stream is accepted: a program's unless a person holds `reach`, a person's only with the lease."""
        if not caller.person:
            return self.admits(caller, reach)
        return self.state == "shared" or (self.is_holder(caller) and reach in self.reach)

    def left_to_programs(self, reach: Reach) -> bool:
        """Whether only programs act on `reach`: no person holds or shares it."""
        return self.state == "agent" or (self.state == "human" and reach not in self.reach)

    def is_holder(self, caller: Caller) -> bool:
        """Whether the caller is the person who holds the lease. A program of the same name is not."""
        return caller.person and self.state == "human" and caller.name == self.holder

    def refusal(self, outcome: str | None = None) -> HeldByHuman:
        """The error for an action that is refused now. `outcome` says what became of an action that had begun."""
        who = "control is frozen" if self.state == "frozen" else f"{self.holder} has control"
        details: dict[str, object] = {"reason": "held_by_human"} | self._public_fields() | ({} if outcome is None else {"outcome": outcome})
        return HeldByHuman(
            f"{who}: {'this was interrupted, and may have been done in part' if outcome else 'nothing was done'}",
            hint="Reads go on. Send it again with ?wait=SECONDS to wait for control; look again before you act on what you saw before.",
            **details,  # type: ignore[arg-type] # none of them is named like a parameter of its own
        )

    def dumps(self) -> dict[str, Any]:
        """Encode as JSON types, for another process."""
        return self._public_fields() | {"private": self.private}

    def _public_fields(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "state": self.state, "holder": self.holder, "reach": sorted(self.reach)}

    @classmethod
    def loads(cls, value: Any) -> "Holding":
        """Decode the output of `dumps`; raises TypeError, KeyError or ValueError for anything else."""
        return cls(int(value["epoch"]), value["state"], value["holder"], frozenset(value["reach"]), value.get("private"))


class Control(Protocol):
    """The lease, as input streams of persons and programs use it."""

    def drives(self, caller: Caller, reach: Reach) -> bool:
        """Whether the caller's input is accepted now."""

    async def drive(self, caller: Caller, reach: Reach) -> bool:
        """Take an input event, and return whether it is accepted.

        A person's first input takes the lease if the settings allow.
        """

    async def changed(self) -> None:
        """Wait until the lease changes."""

    def sees(self, caller: Caller) -> bool:
        """Whether the caller may see the screen and the pages now."""

    def note(self, caller: Caller, what: str, count: int) -> None:
        """Count the caller's keys, clicks and other inputs. Only their number is recorded."""

    def entered(self, caller: Caller, session: str, line: str) -> None:
        """Record a line that the caller entered at the prompt of a shell session."""

    def watching(self, caller: Caller) -> AbstractContextManager[None]:
        """While it is open, the caller has a viewer. A person's lease ends a while after the last one is closed."""
