"""What a tenant may have at the same time, and in a month."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.errors import InvalidError, QuotaError
from tandem_fleet.sandboxes import Desired, Spec, State

OCCUPYING = frozenset({Desired.RUNNING, Desired.PAUSED})
"""What has its memory and processors to itself. A stopped one has files alone."""
GONE = frozenset({State.FAILED, State.DELETED})


class Quota(BaseModel):
    """Limits of a tenant. What is null has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sandboxes: int | None = Field(default=None, ge=0, le=1_000_000, description="Sandboxes that exist, stopped ones too.")
    cpus: float | None = Field(default=None, ge=0, le=1_000_000, description="Processors of those that run or are paused, as limited.")
    memory_mb: int | None = Field(default=None, ge=0, le=10**12, description="Memory of the same in MiB, as limited.")
    hours: float | None = Field(default=None, ge=0, le=10**9, description="Hours of running in a month (UTC), all sandboxes together.")
    requests_per_minute: int = Field(default=6000, ge=1, le=10**9, description="Calls of each key.")


@dataclass(frozen=True)
class Held:
    """What a tenant has."""

    sandboxes: int = 0
    cpus: float = 0
    memory_mb: int = 0
    hours: float = 0


def occupies(desired: str, state: str) -> bool:
    """Whether a sandbox that shall be and is this has memory and processors to itself."""
    return desired in OCCUPYING and state not in GONE


def check(quota: Quota, held: Held, spec: Spec, *, exists: bool) -> None:
    """Refuse one more that shall run. `exists` says whether it is one of those held. Raises `QuotaError`, `InvalidError`."""
    if quota.cpus is not None and spec.cpus is None:
        raise InvalidError("your tenant's processors are limited: say how many this one may use (`cpus`)")
    wanted = (
        ("sandboxes", held.sandboxes + (not exists), quota.sandboxes if not exists else None),
        ("processors", held.cpus + (spec.cpus or 0), quota.cpus),
        ("MiB of memory", held.memory_mb + spec.memory_mb, quota.memory_mb),
    )
    for what, total, limit in wanted:
        if limit is not None and total > limit:
            raise QuotaError(f"your tenant may have {limit:g} {what}, and this would make it {total:g}")
    if quota.hours is not None and held.hours >= quota.hours:
        raise QuotaError(f"your tenant has used its {quota.hours:g} hours of this month")
