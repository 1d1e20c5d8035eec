"""What the simple commands of a line run in the end: through sudo, env, xargs, `sh -c`, eval and the like."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sandbox_server.drivers.shells.shell_lexer import MAX_DEPTH, NotUnderstood, ShellWord, SimpleCommand, commands_of

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "fish"})
_VALUES: dict[str, str] = {
    "sudo": "-u -g -h -p -C -T -U -r -t -D -R --user --group --host --prompt --chdir --chroot --close-from",
    "doas": "-u -C",
    "env": "-u -C --unset --chdir",
    "nice": "-n --adjustment",
    "ionice": "-c -n --class --classdata",
    "timeout": "-k -s --kill-after --signal",
    "stdbuf": "-i -o -e --input --output --error",
    "xargs": "-n -I -P -L -d -E -a -s --max-args --replace --max-procs --max-lines --delimiter --arg-file --max-chars",
    "flock": "-w -E --timeout --conflict-exit-code",
    "watch": "-n --interval",
    "chroot": "--userspec --groups",
    "runuser": "-u -g -G --user --group --supp-group",
    "strace": "-o -e -p -s -u -E",
    "unshare": "",
    "nsenter": "-t --target",
    "nohup": "",
    "setsid": "",
    "time": "-o -f --output --format",
    "exec": "-a",
    "command": "",
    "builtin": "",
    "busybox": "",
    "toybox": "",
    "chronic": "",
    "parallel": "-j --jobs",
    "setpriv": "",
    "taskset": "",
}
"""Programs that run the command in their arguments, with their options that take a value."""
_OPERANDS = {"timeout": 1, "flock": 1, "chroot": 1, "taskset": 1}
"""How many operands come before that command."""
_LINES = {"su": ("-c", "--command"), "runuser": ("-c", "--command"), "script": ("-c", "--command"), "flock": ("-c", "--command")}
"""Programs that take a shell line by an option."""
_VALUED_SHELL = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_RUN_VARIABLES = frozenset({"PROMPT_COMMAND", "GIT_SSH_COMMAND", "GIT_EDITOR", "EDITOR", "VISUAL", "PAGER", "GIT_PAGER"})
_FILE_VARIABLES = frozenset({"BASH_ENV", "ENV", "LD_PRELOAD", "GIT_EXTERNAL_DIFF"})


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A command that a line runs. Without `words` it is one that nobody can tell from the line."""

    words: tuple[ShellWord, ...] = ()

    @property
    def unclear(self) -> bool:
        """Whether the program is not known from the line."""
        return not self.words or self.words[0].dynamic or not self.words[0].text


UNCLEAR = RunCommand()


def run_by(line: str) -> list[RunCommand]:
    """Return every command that a line runs as far as it says so. What cannot be told is `UNCLEAR`."""
    return list(_line(line, 0))


def _line(line: str, depth: int) -> Iterator[RunCommand]:
    if depth > MAX_DEPTH:
        yield UNCLEAR
        return
    try:
        found = commands_of(line)
    except NotUnderstood:
        yield UNCLEAR
        return
    for command in found:
        for word in command.assignments:
            yield from _assigned(word, depth)
        if command.words:
            yield from _command(command, depth)


def _assigned(word: ShellWord, depth: int) -> Iterator[RunCommand]:
    name, _, value = word.text.partition("=")
    if name in _FILE_VARIABLES:
        yield UNCLEAR
    elif name in _RUN_VARIABLES:
        yield from _nested(replace(word, text=value), depth)


def _nested(word: ShellWord, depth: int) -> Iterator[RunCommand]:
    """The commands of a word that is a shell line."""
    if word.dynamic:
        yield UNCLEAR
    else:
        yield from _line(word.text, depth + 1)


def _command(command: SimpleCommand, depth: int) -> Iterator[RunCommand]:
    words = command.words
    yield RunCommand(words)
    if depth > MAX_DEPTH or words[0].dynamic:
        return
    name, rest = program(words[0].text), words[1:]
    if name in SHELLS:
        yield from _shell(rest, depth, piped=command.piped)
    elif name == "eval":
        joined = ShellWord(" ".join(word.text for word in rest), any(word.dynamic for word in rest))
        yield from _nested(joined, depth)
    elif name in ("trap", "alias"):
        yield from _definitions(name, rest, depth)
    elif name == "find":
        yield from _found(command, depth)
    elif name == "export":
        for word in rest:
            yield from _assigned(word, depth)
    else:
        yield from _wrapped(name, command, depth)


def _shell(rest: tuple[ShellWord, ...], depth: int, *, piped: bool) -> Iterator[RunCommand]:
    """What a shell runs: a line after `-c`, what it reads, or a script, which is not looked into."""
    at = 0
    while at < len(rest):
        word = rest[at]
        if word.dynamic or word.text == "-s":
            yield UNCLEAR
            return
        if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text:
            line = next((each for each in _operands_of_shell(rest[at + 1 :])), None)
            yield from _nested(line, depth) if line else ()
            return
        if not word.text.startswith(("-", "+")):
            return
        at += 2 if word.text in _VALUED_SHELL else 1
    if piped:
        yield UNCLEAR


def _operands_of_shell(rest: tuple[ShellWord, ...]) -> Iterator[ShellWord]:
    skipped = False
    for word in rest:
        if skipped or (word.text.startswith(("-", "+")) and not word.dynamic):
            skipped = not skipped and word.text in _VALUED_SHELL
        else:
            yield word


def _definitions(name: str, rest: tuple[ShellWord, ...], depth: int) -> Iterator[RunCommand]:
    for word in rest[:1] if name == "trap" else rest:
        line = word if name == "trap" else replace(word, text=word.text.partition("=")[2])
        yield from _nested(line, depth)


def _found(command: SimpleCommand, depth: int) -> Iterator[RunCommand]:
    """The commands of `find -exec`."""
    words = command.words
    for at, word in enumerate(words):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((number for number in range(at + 1, len(words)) if words[number].text in (";", "+")), len(words))
            if inner := _with_file_names(words[at + 1 : end]):
                yield from _command(replace(command, words=inner), depth + 1)


def _with_file_names(words: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    return tuple(replace(word, dynamic=word.dynamic or "{}" in word.text) for word in words)


def _wrapped(name: str, command: SimpleCommand, depth: int) -> Iterator[RunCommand]:
    words = command.words
    for option in _LINES.get(name, ()):
        for at, word in enumerate(words[1:], 1):
            if word.text == option and at + 1 < len(words):
                yield from _nested(words[at + 1], depth)
            elif word.text.startswith(f"{option}=") or (len(option) == 2 and word.text.startswith(option) and word.text != option):
                yield from _nested(replace(word, text=word.text[len(option) :].removeprefix("=")), depth)
    if name not in _VALUES:
        return
    inner, split = _after_options(name, words[1:])
    if split is not None:
        yield from _nested(split, depth)
    if inner and name == "watch":
        yield from _nested(ShellWord(" ".join(word.text for word in inner), any(word.dynamic for word in inner)), depth)
    elif inner:
        more = (ShellWord("", dynamic=True),) if name in ("xargs", "parallel") else ()
        yield from _command(replace(command, words=(*inner, *more)), depth + 1)


def _after_options(name: str, rest: tuple[ShellWord, ...]) -> tuple[tuple[ShellWord, ...], ShellWord | None]:
    """Return the command behind a wrapper's options, and the line that `env -S` splits."""
    valued, operands, at = _VALUES[name].split(), _OPERANDS.get(name, 0), 0
    while at < len(rest):
        text = rest[at].text
        if name == "env" and text.startswith(("-S", "--split-string")):
            return (), _split_string(rest, at)
        if name == "command" and text in ("-v", "-V"):
            return (), None
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1:
            at += 2 if text in valued else 1
        elif name in ("env", "sudo") and "=" in text:
            at += 1
        elif operands:
            operands, at = operands - 1, at + 1
        else:
            break
    return rest[at + (operands if rest[at - 1 : at] and rest[at - 1].text == "--" else 0) :], None


def _split_string(rest: tuple[ShellWord, ...], at: int) -> ShellWord:
    text = rest[at].text.removeprefix("--split-string").removeprefix("-S").removeprefix("=")
    parts = ([replace(rest[at], text=text)] if text else []) + list(rest[at + 1 :])
    return ShellWord(" ".join(part.text for part in parts), any(part.dynamic for part in parts))


def program(text: str) -> str:
    """Return the name of a program, without its directory."""
    return text.rpartition("/")[2]
