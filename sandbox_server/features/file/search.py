"""Search in files, with ripgrep."""

import os
import re
from collections.abc import Callable, Sequence

from pydantic import Field

from sandbox_server.core import InvalidArgument, Model, Reply, operation
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.ripgrep import Collector, Ripgrep, RipgrepMatch, RipgrepResult
from sandbox_server.drivers.files.tree_walk import matcher
from sandbox_server.drivers.files.worker_errors import FileRefused

MAX_MATCHES = 10_000
"""Limit of matches in one answer."""
SECONDS = 30.0
"""Seconds of a search. After that it returns what it has."""
_SIZE = re.compile(r"\d+[KMG]?", re.IGNORECASE)


class FileSearchRequest(Model):
    """The file and the pattern."""

    file: str
    """Absolute path, or one that begins with `~/`."""
    regex: str
    """Regular expression in ripgrep's syntax, look-around and back-references included."""
    sudo: bool = False
    """Read as root."""


class FileSearchResult(Model):
    """The matching lines."""

    file: str
    """The requested path."""
    matches: tuple[str, ...] = ()
    """Matching lines without their newlines."""
    line_numbers: tuple[int, ...] = ()
    """Their numbers, from 1, in the same order."""
    truncated: bool = False
    """Whether there are more."""


class FileGrepRequest(Model):
    """The files and the pattern."""

    path: str
    """File or directory, absolute or beginning with `~/`."""
    pattern: str
    """Regular expression in ripgrep's syntax, look-around and back-references included."""
    include: tuple[str, ...] | None = None
    """Only files that match one of these globs, such as `*.py`."""
    exclude: tuple[str, ...] | None = None
    """Leave out files and directories that match one of these globs, such as `node_modules`."""
    case_insensitive: bool = False
    """Ignore case."""
    fixed_strings: bool = False
    """Treat the pattern as plain text."""
    context_before: int = Field(default=0, ge=0, le=20)
    """Lines to show before each match."""
    context_after: int = Field(default=0, ge=0, le=20)
    """Lines to show after each match."""
    max_results: int = Field(default=500, ge=1, le=MAX_MATCHES)
    """Limit of matches in the answer."""
    max_file_size: str = "1M"
    """Leave out larger files. A number with K, M or G."""
    multiline: bool = False
    """Let the pattern span lines. The dot matches newlines too."""
    offset: int = Field(default=0, ge=0)
    """Matches to skip, for the next page. Matches are ordered by file name."""
    type: str | None = None
    """Only files of this ripgrep type: `py`, `js`, `rust`."""
    recursive: bool = True
    """Include sub-directories."""
    include_hidden: bool = False
    """Include files and directories whose names begin with a dot."""
    include_ignored: bool = False
    """Include what `.gitignore` and similar files leave out."""


class GrepMatch(Model):
    """One match."""

    file: str
    """Path of the file."""
    line_number: int
    """Number of the line, from 1; of the first one for a match that spans lines."""
    line_content: str
    """The line without its newline; several lines for a match that spans them."""
    context_before: list[str] | None = None
    """Lines before it, if requested."""
    context_after: list[str] | None = None
    """Lines after it, if requested."""
    line_truncated: bool = False
    """Whether the line was shortened to the part around the match."""


class FileGrepResult(Model):
    """Matches in many files."""

    path: str
    """The requested path."""
    pattern: str
    """The requested pattern."""
    matches: tuple[GrepMatch, ...] = ()
    """This page of matches."""
    match_count: int = 0
    """Number of all matches."""
    files_searched: int | None = None
    """Files that were searched; null if the search was stopped."""
    files_matched: int | None = None
    """Files with matches; null if the search was stopped."""
    truncated: bool = False
    """Whether there are more matches: continue with `offset`."""


class FileSearch:
    """Finds text in the agent's files."""

    tag = "file"

    def __init__(self, files: Files, ripgrep: Ripgrep) -> None:
        self._files = files
        self._ripgrep = ripgrep

    @operation(
        "POST /v1/file/search", scope="files", operation_id="search_in_file", message="Search completed", failures="file", read_only=True
    )
    async def search(self, request: FileSearchRequest) -> Reply[FileSearchResult]:
        """Return the lines of one file that match a regular expression."""
        access = self._files.access("search", sudo=request.sudo)
        with await access.open(request.file):
            pass
        collector = Collector(limit=MAX_MATCHES)
        options = ["--text", f"--regexp={request.regex}"]
        found = await self._ripgrep.search(options, access.absolute(request.file), collector, user=access.user, timeout=SECONDS)
        result = FileSearchResult(
            file=request.file,
            matches=tuple(match.text for match in found.matches),
            line_numbers=tuple(match.line for match in found.matches),
            truncated=not found.ended or found.total > len(found.matches),
        )
        return Reply(result, hint=_hint(found))

    @operation("POST /v1/file/grep", scope="files", operation_id="grep_files", message="Grep completed", failures="file", read_only=True)
    async def grep(self, request: FileGrepRequest) -> Reply[FileGrepResult]:
        """Search many files for a pattern. Binary files are left out."""
        access = self._files.access("grep")
        path = access.absolute(request.path)
        top = path
        if (await access.stat(path)).status.type != "directory":
            (await access.open(path)).close()  # reading a pipe or a device would never end; opening it fails
            top = os.path.dirname(path)
        collector = Collector(
            before=request.context_before,
            after=request.context_after,
            offset=request.offset,
            limit=request.max_results,
            wanted=path_filter(top, request.include or ()),
        )
        found = await self._ripgrep.search(_options(request), path, collector, cwd=top, timeout=SECONDS)
        result = FileGrepResult(
            path=request.path,
            pattern=request.pattern,
            matches=tuple(_match(match, request) for match in found.matches),
            match_count=found.total,
            files_searched=found.files_searched,
            files_matched=found.files_matched,
            truncated=not found.ended or found.total > request.offset + len(found.matches),
        )
        return Reply(result, hint=_hint(found))


def _options(request: FileGrepRequest) -> list[str]:
    if not _SIZE.fullmatch(request.max_file_size):
        raise InvalidArgument(f"max_file_size is {request.max_file_size!r}; it must be a number with K, M or G, as in 500K")
    options = [f"--regexp={request.pattern}", f"--max-filesize={request.max_file_size.upper()}"]
    options += [f"--glob=!{pattern}" for pattern in request.exclude or ()]
    if request.context_before:
        options.append(f"--before-context={request.context_before}")
    if request.context_after:
        options.append(f"--after-context={request.context_after}")
    if request.type:
        options.append(f"--type={request.type}")
    flags = {
        "--ignore-case": request.case_insensitive,
        "--fixed-strings": request.fixed_strings,
        "--multiline": request.multiline,
        "--multiline-dotall": request.multiline,
        "--max-depth=1": not request.recursive,
        "--hidden": request.include_hidden,
        "--glob=!.*": not request.include_hidden,
        "--no-ignore": request.include_ignored,
    }
    return options + [flag for flag, wanted in flags.items() if wanted]


def path_filter(top: str, patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a test whether a file below `top` matches a glob, by name, or by path for globs with a slash.

    ripgrep's own globs would include files that are hidden, ignored or of another type.
    """
    try:
        fits = matcher(patterns)
    except FileRefused as refusal:
        raise InvalidArgument(refusal.message) from None
    return (lambda path: fits(os.path.relpath(path, top))) if patterns else lambda _: True


def _match(match: RipgrepMatch, request: FileGrepRequest) -> GrepMatch:
    return GrepMatch(
        file=match.file,
        line_number=match.line,
        line_content=match.text,
        context_before=match.before if request.context_before else None,
        context_after=match.after if request.context_after else None,
        line_truncated=match.cut,
    )


def _hint(found: RipgrepResult) -> str | None:
    if found.problem:
        return f"Not everything could be searched: {found.problem[:500]}"
    if found.ended:
        return None
    return "The search was stopped because it found or took too much; narrow it with include, exclude, type or a smaller path."
