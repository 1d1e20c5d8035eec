"""What a checkpoint keeps beside files: shells, tabs, and what ran. As JSON, which may come from anybody where it comes from a fork."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

MAX_STATE = 2 << 20
"""Bytes of all of it."""
MAX_SHELLS, MAX_TABS, MAX_PROGRAMS, MAX_FIELDS = 64, 50, 200, 200
MAX_NAME, MAX_PATH, MAX_URL, MAX_TITLE, MAX_VALUE, MAX_COMMAND = 200, 4096, 8 << 10, 500, 4096, 4096
MAX_VARIABLES, MAX_SCREEN = 256 << 10, 64 << 10
MAX_WORDS = 256
MAX_SCROLL = 1e9
KINDS = ("text", "checked", "selected")
_STEP = re.compile(":nth-child[(][1-9][0-9]{0,8}[)]")


@dataclass(frozen=True, slots=True)
class KeptShell:
    """A shell session: where it was, what it exported as bash declares it, and the text on its screen."""

    id: str
    directory: str
    variables: str = ""
    screen: str = ""
    implicit: bool = False
    personal: bool = False
    no_change_timeout: float = 0.0


@dataclass(frozen=True, slots=True)
class KeptField:
    """A field of a form: `path` is a CSS selector that counts elements from the root, `kind` says what the value is of."""

    path: str
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class KeptTab:
    """A tab, in the order of the strip. `x` and `y` are how far its page was scrolled, in CSS pixels."""

    url: str
    title: str = ""
    front: bool = False
    x: float = 0.0
    y: float = 0.0
    fields: tuple[KeptField, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptProgram:
    """A program that ran: its words, where, as whom, and the session that started it, `shell:ID` or `bash:ID`; empty if unknown."""

    argv: tuple[str, ...]
    directory: str
    uid: int
    session: str = ""
    whole: bool = True
    """Whether the words are all of them, without a secret taken out: then it can be started again."""


@dataclass(frozen=True, slots=True)
class KeptState:
    """All of it. `problems` say what is missing, and why."""

    shells: tuple[KeptShell, ...] = ()
    tabs: tuple[KeptTab, ...] = ()
    programs: tuple[KeptProgram, ...] = ()
    problems: tuple[str, ...] = field(default=())

    def dumps(self) -> str:
        """Encode it; screens go first where it would be too long, then variables."""
        for drop in ((), ("screen",), ("screen", "variables")):
            told = asdict(self)
            for shell in told["shells"]:
                shell.update(dict.fromkeys(drop, ""))
            text = json.dumps(told)
            if len(text) <= MAX_STATE:
                return text
        return json.dumps(asdict(KeptState(problems=("the state has more than 2 MiB",))))

    @classmethod
    def loads(cls, content: bytes | str) -> "KeptState":
        """Read what `dumps` gave. Raises ValueError for anything else."""
        if len(content) > MAX_STATE:
            raise ValueError(f"the state has more than {MAX_STATE} bytes")
        try:
            told = json.loads(content)
        except RecursionError:
            raise ValueError("the state is nested too deep") from None
        shells = _each(told, "shells", MAX_SHELLS, _shell)
        if len({each.id for each in shells}) < len(shells):
            raise ValueError("the state has two shells of one id")
        return cls(
            shells,
            _each(told, "tabs", MAX_TABS, _tab),
            _each(told, "programs", MAX_PROGRAMS, _program),
            _each(told, "problems", 20, lambda one: _text(one, MAX_PATH)),
        )


def _each[T](told: Any, name: str, most: int, read: Callable[[Any], T]) -> tuple[T, ...]:
    found = told.get(name, []) if isinstance(told, dict) else None
    if not isinstance(found, list) or len(found) > most:
        raise ValueError(f"the state has no list of at most {most} {name}")
    return tuple(map(read, found))


def _shell(told: Any) -> KeptShell:
    directory = _text(_of(told, "directory"), MAX_PATH)
    name = _text(_of(told, "id"), MAX_NAME)
    if not name:
        raise ValueError("the state has a shell without an id")
    return KeptShell(
        id=name,
        directory=directory if directory.startswith("/") else "/",
        variables=_text(_of(told, "variables"), MAX_VARIABLES),
        screen=_text(_of(told, "screen"), MAX_SCREEN),
        implicit=_of(told, "implicit") is True,
        personal=_of(told, "personal") is True,
        no_change_timeout=_number(_of(told, "no_change_timeout"), 0, 86400),
    )


def _tab(told: Any) -> KeptTab:
    return KeptTab(
        url=_text(_of(told, "url"), MAX_URL),
        title=_text(_of(told, "title"), MAX_TITLE),
        front=_of(told, "front") is True,
        x=_number(_of(told, "x"), -MAX_SCROLL, MAX_SCROLL),
        y=_number(_of(told, "y"), -MAX_SCROLL, MAX_SCROLL),
        fields=_each(told, "fields", MAX_FIELDS, _field),
    )


def _field(told: Any) -> KeptField:
    kind = _of(told, "kind")
    if kind not in KINDS:
        raise ValueError("the state has a field of an unknown kind")
    path = _text(_of(told, "path"), MAX_PATH)
    root, *steps = path.split(">")
    if root != ":root" or not all(_STEP.fullmatch(step) for step in steps):
        raise ValueError("the state has a field whose path does not count elements from the root")
    return KeptField(path, kind, _text(_of(told, "value"), MAX_VALUE))


def _program(told: Any) -> KeptProgram:
    uid = _of(told, "uid")
    if type(uid) is not int or not 0 <= uid < 1 << 32:
        raise ValueError("the state has a program of no user")
    argv = _each(told, "argv", MAX_WORDS, lambda one: _text(one, MAX_COMMAND))
    directory, session = _text(_of(told, "directory"), MAX_PATH), _text(_of(told, "session"), MAX_NAME)
    return KeptProgram(argv, directory, uid, session, _of(told, "whole") is True)


def _of(told: Any, name: str) -> Any:
    if not isinstance(told, dict) or name not in told:
        raise ValueError(f"the state has something without {name}")
    return told[name]


def _text(value: Any, most: int) -> str:
    if not isinstance(value, str) or len(value) > most or "\0" in value or not _is_encodable(value):
        raise ValueError("the state has a malformed text")
    return value


def _is_encodable(text: str) -> bool:
    """Whether it has no half of a surrogate pair, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError("the state has a number that cannot be")
    return float(value)
