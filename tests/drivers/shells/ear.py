"""What the tests of shells and of panes hear with."""

from sandbox_server.drivers.shells.shell_integration import Mark
from sandbox_server.drivers.spawn.process import Exit
from tests.patience import eventually


class Ear:
    """Hears one shell or pane, and lets a test wait for what it hears."""

    def __init__(self) -> None:
        self.heard = b""
        self.marks: list[Mark] = []
        self.exits: list[Exit] = []
        self.gaps = 0

    def output(self, data: bytes) -> None:
        self.heard += data

    def marked(self, mark: Mark) -> None:
        self.marks.append(mark)

    def ended(self, observed: Exit) -> None:
        self.exits.append(observed)

    def missed(self) -> None:
        self.gaps += 1

    async def mark(self, kind: str, token: str = "") -> Mark:
        """Wait for a mark that was not waited for yet; those before it are forgotten."""
        await eventually(lambda: any(mark.kind == kind and token in ("", mark.token) for mark in self.marks))
        place = next(place for place, mark in enumerate(self.marks) if mark.kind == kind and token in ("", mark.token))
        found = self.marks[place]
        del self.marks[: place + 1]
        return found

    async def hears(self, data: bytes) -> None:
        await eventually(lambda: data in self.heard)

    async def end(self) -> Exit:
        await eventually(lambda: self.exits)
        return self.exits[0]
