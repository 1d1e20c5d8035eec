"""What a sandbox was asked for by E2B's protocol. It is a label of the sandbox, so that the engine knows it when the store is lost."""

from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tandem_fleet.e2b.control_messages import LONGEST_SECONDS
from tandem_fleet.sandboxes import Sandbox

LABEL = "e2b"


class Origin(BaseModel):
    """What does not change of it."""

    model_config = ConfigDict(frozen=True)

    template: str = ""
    metadata: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables of every program that is started in it."""
    timeout: int = Field(default=300, ge=0, le=LONGEST_SECONDS)
    """Seconds until its first end."""
    pauses: bool = False
    """Whether it is paused at its end, and not removed."""
    keeps_memory: bool = True
    """Whether a pause at its end keeps its memory, and not its files alone."""
    resumes: bool = False
    """Whether a call wakes it where it is paused."""
    known: bool = True
    """Whether it was made by this protocol."""

    def ends_first(self, made_at: datetime) -> datetime:
        """When it ends, where nobody says otherwise."""
        return made_at + timedelta(seconds=self.timeout)


def origin_of(sandbox: Sandbox) -> Origin:
    """What a sandbox was asked for. One that was made otherwise has no end, and no call wakes it."""
    text = sandbox.spec.labels.get(LABEL)
    if text is None:
        return Origin(known=False, template=sandbox.spec.image)
    try:
        return Origin.model_validate_json(text)
    except ValidationError:
        return Origin(known=False, template=sandbox.spec.image)
