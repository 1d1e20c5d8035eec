"""Who asks: a caller, and the headers in which one process of the sandbox tells another.

The gateway removes these headers from every request of a client and sets them from what authentication answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sandbox_server.core.tool_allow_list import AllowList, header_of, read_header

CALLER = "x-sandbox-caller"
SCOPES = "x-sandbox-scopes"
ACTOR = "x-sandbox-actor"
TOOLS = "x-sandbox-tools"
SURFACE = "x-sandbox-surface"
"""By which surface a call came, where that is not HTTP: `mcp` or `cli`."""
EXPIRES = "x-sandbox-expires"
"""When the caller's credential ends, in whole seconds since the epoch; empty where it does not."""
HANDOFF = "x-sandbox-handoff"
"""The handoff whose link the caller came by; empty where there is none."""
PERSON = "person"
SERVER = "server"
"""What a process of the sandbox's own has beside the scopes of whom it asks for; no credential gives it."""

FORWARDED = (CALLER, SCOPES, TOOLS, "x-request-id", "x-forwarded-host", "x-forwarded-proto", "host")
"""What goes on with a call from one surface to another: whom a program acts for, and from where. A program never counts as a person."""

type Scope = Literal["view", "control", "shell", "files", "browser", "code", "admin"]
"""What a caller may do. A token without scopes has them all."""

ALL_SCOPES: frozenset[str] = frozenset({"view", "control", "shell", "files", "browser", "code", "admin"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the gateway found out."""

    name: str
    scopes: frozenset[str] = ALL_SCOPES
    tools: AllowList = None
    """The tools that it may use, where its token names some: then it may do nothing else."""
    person: bool = False
    """Whether a person sits at the other end: a signed-in browser, or a token that says so."""

    def may(self, scope: str) -> bool:
        """Whether this caller holds `scope`."""
        return scope in self.scopes

    def headers(self) -> dict[str, str]:
        """As headers, for a process of ours behind the gateway; `from_headers` reads them."""
        return {
            CALLER.title(): self.name,
            SCOPES.title(): " ".join(sorted(self.scopes)),
            ACTOR.title(): PERSON if self.person else "agent",
            TOOLS.title(): header_of(self.tools),
        }

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> "Caller | None":
        """Read them, names in lower case or in a mapping that ignores case; None where nobody is named."""
        name = headers.get(CALLER)
        if not name:
            return None
        scopes = frozenset(headers.get(SCOPES, "").split())
        return cls(name, scopes, read_header(headers.get(TOOLS)), person=headers.get(ACTOR) == PERSON)


def forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a call that go on with it to another surface."""
    return {name: headers[name] for name in FORWARDED if name in headers}
