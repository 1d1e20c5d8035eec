"""What a sandbox is: what it is made of, what it shall be and what it is."""

import re
import secrets
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.errors import InvalidError
from tandem_fleet.idle_policy import IdlePolicy

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without letters and digits that are mistaken for each other."""
NAME = r"^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$"
"""A part of a host name, with room for `<port>-` before it."""
Name = Annotated[str, Field(pattern=NAME)]
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
FLEET_LABEL, ID_LABEL, NAME_LABEL, TENANT_LABEL, SPEC_LABEL = "tandem.fleet", "tandem.id", "tandem.name", "tandem.tenant", "tandem.spec"
OWN_LABELS = frozenset({FLEET_LABEL, ID_LABEL, NAME_LABEL, TENANT_LABEL, SPEC_LABEL})
"""Labels in the engine by which the fleet knows its sandboxes."""
RESERVED = ("JWT_", "SANDBOX_API_KEY", "AUTH", "IDENTITY_SANDBOX_ID")
"""Beginnings of variables that the fleet sets itself: who may call a sandbox is not the creator's to say."""


def new_id() -> str:
    """An identifier of 16 characters (79 bits) that is a part of a host name."""
    return secrets.choice(_ALPHABET[:23]) + "".join(secrets.choice(_ALPHABET) for _ in range(15))


class Desired(StrEnum):
    """What a sandbox shall be."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    DELETED = "deleted"


class State(StrEnum):
    """What a sandbox is, as far as the service has seen."""

    CREATING = "creating"
    STARTING = "starting"
    READY = "ready"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    DELETING = "deleting"
    DELETED = "deleted"


class Spec(BaseModel):
    """What a sandbox is made of. Nothing but `idle` changes once the sandbox exists."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    image: str = Field(default="tandem", min_length=1, max_length=512, description="The image's name, as the engine knows it.")
    environment: dict[str, str] = Field(default_factory=dict, max_length=256, description="Variables of the sandbox (docs/settings.md).")
    memory_mb: int = Field(default=4096, ge=256, le=1_048_576, description="Limit of memory in MiB, shared memory included.")
    cpus: float | None = Field(default=None, gt=0, le=512, description="Limit of processors. Without it there is none.")
    processes: int = Field(default=4096, ge=128, le=1_000_000, description="Limit of processes and threads.")
    labels: dict[str, str] = Field(default_factory=dict, max_length=64, description="Yours, to find it by.")
    level: str = Field(
        default="box",
        pattern="^(box|plain|restricted)$",
        description="`box` starts it with the flags that give the agent a box; `plain` without; `restricted` as one user, on Kubernetes.",
    )
    runtime: str | None = Field(default=None, max_length=64, description="The engine's runtime, as `runsc`.")
    template: str = Field(default="", max_length=64, description="The template that says the rest: `name`, or `name@version`.")
    idle: IdlePolicy | None = Field(default=None, description="What becomes of it while nobody uses it. Without it nothing does.")


def check_spec(spec: Spec) -> None:
    """Refuse what is the fleet's to say, and what no store keeps. Raises `InvalidError`."""
    if any("\0" in word for word in (spec.image, spec.runtime or "", *spec.environment.values(), *spec.labels, *spec.labels.values())):
        raise InvalidError("what a sandbox is made of holds no NUL")
    for variable in spec.environment:
        if not VARIABLE.fullmatch(variable) or variable.startswith(RESERVED):
            raise InvalidError(
                f"the environment may not set {variable!r}: {'the fleet does' if VARIABLE.fullmatch(variable) else 'it is no name'}"
            )
    if label := next((label for label in spec.labels if label in OWN_LABELS), ""):
        raise InvalidError(f"a label may not be called {label!r}: that is the fleet's")


class Sandbox(BaseModel):
    """A sandbox, as the service knows it."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    tenant: str
    spec: Spec
    desired: Desired
    state: State
    reason: str = Field(default="", description="Why it is in its state, if that is not what was asked for.")
    address: str = Field(default="", description="Where its gateway answers, as `http://127.0.0.1:32768`; empty where it does not.")
    failures: int = Field(default=0, description="Starts that failed in a row.")
    created_at: datetime
    changed_at: datetime

    @property
    def is_settled(self) -> bool:
        """Whether it is what it shall be, or has failed."""
        gave_up = self.state == State.FAILED and self.desired != Desired.DELETED
        return gave_up or _SETTLED[self.desired] == self.state


_SETTLED = {Desired.RUNNING: State.READY, Desired.PAUSED: State.PAUSED, Desired.STOPPED: State.STOPPED, Desired.DELETED: State.DELETED}
