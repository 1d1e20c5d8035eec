"""Durations that requests may name, in seconds."""

from typing import Annotated

from pydantic import Field

MAX_SECONDS = 366 * 86400

Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS)]
WholeSeconds = Annotated[int, Field(ge=0, le=MAX_SECONDS)]
