"""Where a new shell starts."""

import pytest

from sandbox_server.core import InvalidArgument
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.features.shell.start_directory import start_in


@pytest.mark.parametrize("directory", [None, ""])
def test_a_shell_starts_in_the_workspace_unless_told_otherwise(directory: str | None) -> None:
    assert start_in("/home/gem", directory) == ShellStart("/home/gem", "follow")


@pytest.mark.parametrize(("preserve", "links"), [(None, "follow"), (False, "follow"), (True, "keep")])
def test_links_are_followed_unless_they_are_to_be_kept(preserve: bool | None, links: str) -> None:
    assert start_in("/home/gem", "/usr", preserve_symlinks=preserve).links == links


def test_a_relative_directory_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="'site' is not an absolute path"):
        start_in("/home/gem", "site")
