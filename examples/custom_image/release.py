"""Releases: what the next version is called, for agents that prepare one."""

import re
from typing import Literal

from sandbox_server.core import InvalidArgument, Model, operation

VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")


class NextVersion(Model):
    version: str
    """The last one, as in `1.4.2`."""
    change: Literal["major", "minor", "patch"] = "patch"
    """What has changed since."""


class Version(Model):
    version: str


class Release:
    """Names releases."""

    tag = "release"

    @operation("POST /v1/release/next", scope="code", tool="release_next", read_only=True)
    async def next_version(self, request: NextVersion) -> Version:
        """Name the version that follows another."""
        found = VERSION.fullmatch(request.version)
        if found is None:
            raise InvalidArgument(f"{request.version!r} is not a version such as 1.4.2")
        major, minor, patch = map(int, found.groups())
        following = {"major": (major + 1, 0, 0), "minor": (major, minor + 1, 0), "patch": (major, minor, patch + 1)}
        return Version(version=".".join(map(str, following[request.change])))
