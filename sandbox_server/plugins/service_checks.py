"""Added services: whether the supervisor can run them."""

import configparser
import os
import pwd
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sandbox_server.plugins.check_results import Findings

_KINDS = ("program", "fcgi-program", "eventlistener", "group")


def check(folders: Iterable[str], own: str) -> Findings:
    """Look at every `*.conf` of the folders; `own` is the folder of the sandbox's own."""
    found, taken = Findings("services"), set(_names(own))
    for folder in folders:
        for file in sorted(Path(folder).glob("*.conf")):
            for name, problems in _sections(file):
                if name in taken:
                    problems = [*problems, "there is a program of this name already"]
                taken.add(name)
                found.added.append(name)
                found.problems.extend(f"{file}: {name}: {problem}" for problem in problems)
    return found


def _names(folder: str) -> Iterator[str]:
    for file in Path(folder).glob("*.conf"):
        yield from (name for name, _ in _sections(file))


def _sections(file: Path) -> Iterator[tuple[str, list[str]]]:
    parser = configparser.RawConfigParser(inline_comment_prefixes=(" ;",), comment_prefixes=(";", "#"))
    try:
        parser.read_string(file.read_text("utf-8"))
    except (configparser.Error, UnicodeDecodeError) as error:
        yield file.stem, [str(error).replace("\n", " ")]
        return
    for section in parser.sections():
        kind, _, name = section.partition(":")
        yield name or section, list(_problems(kind, dict(parser[section])))


def _problems(kind: str, options: Mapping[str, str]) -> Iterator[str]:
    if kind not in _KINDS:
        yield f"[{kind}] is not for an added service: write [program:name]"
        return
    if kind == "group":
        return
    yield from _program(options.get("command", ""))
    if user := options.get("user"):
        try:
            pwd.getpwnam(user)
        except KeyError:
            yield f"there is no user {user!r}"
    directory = options.get("directory", "/")
    if "%(" not in directory and not os.path.isdir(directory):
        yield f"there is no directory {directory}"


def _program(command: str) -> Iterator[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        yield f"its command cannot be read: {error}"
        return
    if not words:
        yield "it has no command"
    elif "%(" not in words[0] and shutil.which(words[0]) is None:
        yield f"there is no program {words[0]}"
