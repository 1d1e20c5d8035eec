"""The text that a sandbox's bash is given for a process, from which the process is read again where processes are listed.

So the sandbox itself keeps what runs in it, and a fleet that was started again finds it.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

NO_INPUT = "</dev/null"
AS_ROOT = ("sudo", "-n", "-E", "-H", "--", "env", "-C")
"""What begins a process of root's. Its directory follows, which the agent may not be allowed to enter."""


@dataclass(frozen=True)
class CommandText:
    """A process as it was asked for."""

    argv: Sequence[str]
    tag: str | None = None
    root_in: str | None = None
    """The directory of a process of root's; None for one of the agent's."""
    takes_input: bool = True

    def __str__(self) -> str:
        words = self.argv if self.root_in is None else [*AS_ROOT, self.root_in, *self.argv]
        line = f"exec {shlex.join(words)}{'' if self.takes_input else f' {NO_INPUT}'}"
        return line if self.tag is None else f": {shlex.quote(self.tag)}; {line}"

    @classmethod
    def parse(cls, text: str) -> "CommandText":
        """Read it again. Of a text that is another's, all is the program of a shell."""
        try:
            words = shlex.split(text)
        except ValueError:
            return cls((text,))
        tag: str | None = None
        if words[:1] == [":"] and words[2:3] == ["exec"]:
            tag = words[1].removesuffix(";")
            words = words[2:]
        takes_input = not text.endswith(f" {NO_INPUT}")
        words = words if takes_input else words[:-1]
        if words[:1] != ["exec"] or len(words) == 1:
            return cls((text,))
        if tuple(words[1 : len(AS_ROOT) + 1]) == AS_ROOT and len(words) > len(AS_ROOT) + 2:
            return cls(tuple(words[len(AS_ROOT) + 2 :]), tag, words[len(AS_ROOT) + 1], takes_input)
        return cls(tuple(words[1:]), tag, None, takes_input)
