"""Where a new shell starts."""

from sandbox_server.core import InvalidArgument
from sandbox_server.drivers.shells.shells import ShellStart


def start_in(workspace: str, directory: str | None, *, preserve_symlinks: bool | None = False) -> ShellStart:
    """Start in `directory`, or in the workspace where none is given. Raises InvalidArgument for one that is not absolute."""
    if directory and not directory.startswith("/"):
        raise InvalidArgument(f"exec_dir {directory!r} is not an absolute path", exec_dir=directory)
    return ShellStart(directory or workspace, "keep" if preserve_symlinks else "follow")
