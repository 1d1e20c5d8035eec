"""What becomes of a sandbox that nobody uses."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Minutes = Annotated[float, Field(gt=0, le=5_256_000)]


class IdlePolicy(BaseModel):
    """Each stage counts from the one before; one that is not given does not come."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pause_after_minutes: Minutes | None = Field(default=None, description="Minutes without any use, after which it is paused.")
    stop_after_minutes: Minutes | None = Field(
        default=None, description="Minutes that it is paused, after which it is stopped; without a pause, minutes without any use."
    )
    delete_after_minutes: Minutes | None = Field(
        default=None, description="Minutes that it is stopped, after which it is removed with its files."
    )
