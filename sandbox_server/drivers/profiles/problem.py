"""What is wrong with a profile or an archive, for the caller. Standard library only: the worker's start is short."""

from typing import Literal

type Kind = Literal["invalid_argument", "not_found", "conflict", "too_large", "resource_exhausted"]
"""The kind of the failure that the caller meets."""
type Reason = Literal["exists", "in_use", "damaged", "newer_chromium", "passphrase", "malformed", "limit", "full"]


class ProfileProblem(Exception):
    """Nothing was changed. `message` is one sentence for the caller."""

    def __init__(self, kind: Kind, message: str, reason: Reason | None = None) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message
        self.reason: Reason | None = reason


def damaged(what: str) -> ProfileProblem:
    """A profile that the browser would not start on, or that holds what no browser puts there."""
    return ProfileProblem("conflict", f"the profile is damaged: {what}", "damaged")


def malformed(what: str) -> ProfileProblem:
    """A file from outside that is not what it says."""
    return ProfileProblem("invalid_argument", f"the file is no exported profile: {what}", "malformed")
