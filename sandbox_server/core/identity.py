"""The caller's identity, and the headers that carry it between processes of the sandbox.

The gateway removes these headers from every client's request and sets them from the result of authentication.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sandbox_server.core.tool_allow_list import AllowList, header_of, read_header

CALLER = "x-sandbox-caller"
SCOPES = "x-sandbox-scopes"
ACTOR = "x-sandbox-actor"
TOOLS = "x-sandbox-tools"
PROFILES = "x-sandbox-profiles"
LANES = "x-sandbox-lanes"
SURFACE = "x-sandbox-surface"
"""The surface of a call, if it is not HTTP: `mcp` or `cli`."""
ENDS_WITH_CALLER = "x-sandbox-ends-with-caller"
"""Set to `1` by a caller who wants what its call began to end when it disconnects."""
EXPIRES = "x-sandbox-expires"
"""The end of the caller's credential, in whole seconds since the epoch; empty if it does not expire."""
HANDOFF = "x-sandbox-handoff"
"""The handoff whose link the caller used; empty if there is none."""
PERSON, OWNER, AGENT = "person", "owner", "agent"
"""What a caller is by `ACTOR`. `owner`: a program that has the owner's key, or anyone at all while authentication is off."""
SERVER = "server"
"""The scope of the sandbox's own processes, in addition to their caller's scopes. No credential grants it."""

FORWARDED = (CALLER, SCOPES, TOOLS, PROFILES, LANES, "x-request-id", "x-forwarded-host", "x-forwarded-proto", "host")
"""The headers that are forwarded from one surface to another: the caller, the original address. A program never counts as a person."""

type Scope = Literal["view", "control", "shell", "files", "browser", "code", "admin"]
"""What a caller may do. A token without scopes has all of them."""

ALL_SCOPES: frozenset[str] = frozenset({"view", "control", "shell", "files", "browser", "code", "admin"})


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, as the gateway authenticated it."""

    name: str
    scopes: frozenset[str] = ALL_SCOPES
    tools: AllowList = None
    """The tools that the caller's token names, if any. The caller may then call nothing else."""
    profiles: AllowList = None
    """The browser profiles that the caller's token names, if any. The caller may then use no other."""
    lanes: AllowList = None
    """The lanes of the browser that the caller's token names, if any. The caller may then be in no other, and not in `main`."""
    person: bool = False
    """Whether the caller is a person: a signed-in browser, or a token that says so."""
    owner: bool = False
    """Whether the caller is a program that has the owner's key."""

    @property
    def decides(self) -> bool:
        """Whether the caller may decide for people: make a person, end a question, change a policy. No other program may."""
        return self.person or self.owner

    def may(self, scope: str) -> bool:
        """Whether this caller holds `scope`."""
        return scope in self.scopes

    def headers(self) -> dict[str, str]:
        """Encode as headers for another process behind the gateway; `from_headers` reads them."""
        return {
            CALLER.title(): self.name,
            SCOPES.title(): " ".join(sorted(self.scopes)),
            ACTOR.title(): PERSON if self.person else OWNER if self.owner else AGENT,
            TOOLS.title(): header_of(self.tools),
            PROFILES.title(): header_of(self.profiles),
            LANES.title(): header_of(self.lanes),
        }

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> "Caller | None":
        """Read the headers from a mapping with lower-case or case-insensitive names; None if they name no caller."""
        name = headers.get(CALLER)
        if not name:
            return None
        scopes = frozenset(headers.get(SCOPES, "").split())
        tools, profiles, lanes = (read_header(headers.get(limit)) for limit in (TOOLS, PROFILES, LANES))
        actor = headers.get(ACTOR)
        return cls(name, scopes, tools, profiles, lanes, person=actor == PERSON, owner=actor == OWNER)


def forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a call that are forwarded to another surface."""
    return {name: headers[name] for name in FORWARDED if name in headers}
