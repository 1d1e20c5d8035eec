"""What a command does, as far as its words say: it installs packages, or it deletes outside of the workspace."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from sandbox_server.drivers.shells.shell_lexer import ShellWord
from sandbox_server.drivers.shells.unwrapped_commands import RunCommand, program, run_by

type CommandEffect = Literal["installs_packages", "deletes_outside_workspace", "unclear"]
"""`unclear`: nobody can tell from the line what runs."""

_INSTALLS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("apt", "apt-get", "aptitude"), frozenset(["install", "upgrade", "dist-upgrade", "full-upgrade", "reinstall", "build-dep"])
    ),
    **dict.fromkeys(("pip", "pip3", "pipx"), frozenset({"install", "inject", "run", "upgrade"})),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"),
        frozenset(["install", "i", "in", "add", "ci", "isntall", "update", "up", "upgrade", "dlx", "exec", "x", "create"]),
    ),
    **dict.fromkeys(("dnf", "yum", "snap", "brew", "cargo", "gem", "go", "flatpak", "zypper"), frozenset({"install", "get", "upgrade"})),
    **dict.fromkeys(("conda", "mamba", "micromamba"), frozenset({"install", "create", "update"})),
    "apk": frozenset({"add", "upgrade"}),
    "uv": frozenset({"install", "add", "sync", "run"}),
    "poetry": frozenset({"install", "add", "update"}),
}
_RUNNERS = frozenset({"npx", "uvx", "bunx", "pnpx", "easy_install"})
"""Programs that fetch what they run."""
_VALUED_GIT = frozenset(["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"])


@dataclass(frozen=True, slots=True)
class CommandAct:
    """One command of a line: its words in one text, and its effects."""

    text: str = ""
    """Its words with a blank between two, without git's global options, with the program's path as it was written."""
    effects: frozenset[CommandEffect] = frozenset()

    @property
    def unclear(self) -> bool:
        """Whether nobody can tell from the line what runs."""
        return "unclear" in self.effects

    @property
    def by_name(self) -> str:
        """The text with the program's name alone, without its directory."""
        first, blank, rest = self.text.partition(" ")
        return f"{program(first)}{blank}{rest}"


UNCLEAR_ACT = CommandAct(effects=frozenset({"unclear"}))


def acts_of(line: str, workspace: str, home: str, directory: str | None) -> list[CommandAct]:
    """Return what a line does. `directory` is where it starts, if that is known."""
    found = []
    for command in run_by(line):
        if command.unclear:
            found.append(UNCLEAR_ACT)
            continue
        directory = _moved(command.words, home, directory)
        found.append(_act(command, workspace, home, directory))
    return found


def _act(command: RunCommand, workspace: str, home: str, directory: str | None) -> CommandAct:
    words = _without_git_options(command.words)
    name, arguments = program(words[0].text), words[1:]
    effects: set[CommandEffect] = set()
    if _installs(name, arguments):
        effects.add("installs_packages")
    if any(not _is_inside(path, workspace, home, directory) for path in _deleted(name, arguments)):
        effects.add("deletes_outside_workspace")
    if name == "git" and (_defines_alias(command.words) or (arguments[:1] and arguments[0].dynamic)):
        effects.add("unclear")
    return CommandAct(" ".join(word.text for word in words), frozenset(effects))


def _moved(words: Sequence[ShellWord], home: str, directory: str | None) -> str | None:
    """Return where the line is after a command: `cd` moves it."""
    if words[0].text not in ("cd", "pushd", "popd"):
        return directory
    target = next((word for word in words[1:] if not word.text.startswith("-")), None)
    if words[0].text == "popd" or (target is None and len(words) > 1):
        return None
    return home if target is None else _resolved(target, home, directory)


def _resolved(word: ShellWord, home: str, directory: str | None) -> str | None:
    """Return the absolute path of a word, if it is known."""
    text = home + word.text[1:] if word.text == "~" or word.text.startswith("~/") else word.text
    if word.dynamic or text.startswith("~") or (directory is None and not text.startswith("/")):
        return None
    return posixpath.normpath(posixpath.join(directory or "/", text))


def _is_inside(word: ShellWord, workspace: str, home: str, directory: str | None) -> bool:
    globbed = ShellWord(word.text.partition("*")[0], dynamic="$" in word.text or "`" in word.text or "{" in word.text)
    path = _resolved(globbed if "*" in word.text and ".." not in word.text.partition("*")[2] else word, home, directory)
    return path is not None and (path == workspace or path.startswith(f"{workspace}/"))


def _deleted(name: str, arguments: Sequence[ShellWord]) -> list[ShellWord]:
    """Return the paths that a command deletes with all that is below them."""
    options = [word.text for word in arguments if word.text.startswith("-") and not word.dynamic]
    operands = [word for word in arguments if not word.text.startswith("-") or word.dynamic]
    if name == "find" and "-delete" in options:
        return _searched(arguments)
    if name == "rm" and any(each == "--recursive" or (not each.startswith("--") and {"r", "R"} & set(each)) for each in options):
        return operands
    if name == "rm" and any(word.dynamic for word in arguments if not word.text.startswith("/")):
        return operands
    return operands if name == "shred" else []


def _searched(arguments: Sequence[ShellWord]) -> list[ShellWord]:
    """Return where `find` searches; without a path, where it is."""
    paths = []
    for word in arguments:
        if word.text.startswith(("-", "(", "!")) and not word.dynamic:
            break
        paths.append(word)
    return paths or [ShellWord(".")]


def _installs(name: str, arguments: Sequence[ShellWord]) -> bool:
    texts = [word.text for word in arguments]
    if name in _RUNNERS:
        return True
    if name.startswith("python") and "-m" in texts:
        at = texts.index("-m") + 1
        return at < len(arguments) and _installs(texts[at], arguments[at + 1 :])
    if name == "dpkg":
        return bool({"-i", "--install", "--unpack"} & set(texts))
    base = name.rstrip("0123456789.") if name.startswith("pip") else name
    return base in _INSTALLS and any(word.dynamic or word.text in _INSTALLS[base] for word in arguments)


def _without_git_options(words: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    """Leave out the options between `git` and its subcommand."""
    if program(words[0].text) != "git":
        return words
    at = 1
    while at < len(words) and words[at].text.startswith("-") and not words[at].dynamic:
        at += 2 if words[at].text in _VALUED_GIT else 1
    return (words[0], *words[at:])


def _defines_alias(words: Sequence[ShellWord]) -> bool:
    """Whether a command of git gives words another meaning by an option."""
    return any(before.text in ("-c", "--config-env") and word.text.lower().startswith("alias.") for before, word in pairwise(words))
