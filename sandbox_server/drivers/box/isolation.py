"""What keeps the agent from the control side in this container: decided once, by boot, and told to everybody.

The isolation levels, from the highest: `box`, a Linux of the agent's own; `users`, an ordinary user among the container's; `none`,
the same user as the server's.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal

type IsolationLevel = Literal["box", "users", "none"]
type EgressEnforcement = Literal["namespace", "rules", "proxy", "off"]
type Storage = Literal["volume", "container", "memory"]


@dataclass(frozen=True)
class Isolation:
    """The isolation level that holds, and why no higher one."""

    level: IsolationLevel
    reason: str
    """Why it is not a higher level, in the kernel's words; empty for the highest."""
    root_withheld: bool = False
    """The agent may not become root, whatever the settings say, because root here could write settings of the host."""
    storage: Storage | None = None
    """What becomes of the box's files: kept by a volume, gone with the container, or gone when the box daemon ends."""
    conditions: tuple[str, ...] = ()
    """What was found of the host that bears on it, one sentence each."""
    egress: EgressEnforcement = "off"
    """What leads connections to the egress process: the box's network namespace, rules in the container's, or programs that ask a proxy."""
    flags: tuple[str, ...] = ()
    """How to start the container for the highest isolation level."""

    @property
    def allows_root(self) -> bool:
        """Whether the agent's `sudo` works, as far as isolation goes; a setting may say no as well."""
        return self.level != "none" and not self.root_withheld

    def encode(self) -> str:
        """Write it as JSON."""
        return json.dumps(asdict(self))


UNKNOWN = Isolation("none", "the container was not started by its own entry point")


def read(path: str) -> Isolation:
    """What boot wrote down."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return UNKNOWN
    return Isolation(**found | {name: tuple(found[name]) for name in ("conditions", "flags")})
