"""The policy of approvals: rules that say which acts are allowed, denied, or asked about."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from sandbox_server import patterns
from sandbox_server.core import Model
from sandbox_server.core.approval import TimeoutAction
from sandbox_server.drivers.shells.command_effects import CommandAct, CommandEffect

MAX_RULES = 500
MAX_BYTES = 256 << 10
"""Limit of the document."""
MAX_TEXT = 4000
"""Characters of an exact command line."""

FOLDED = frozenset({"host", "file"})
"""Fields that are compared in any case."""
_PORT = re.compile("[^:]+:[0-9]+")

type ActSubject = Literal["shell", "navigation", "download", "submit", "tool"]
type ApprovalAction = Literal["allow", "ask", "deny"]
type ActFields = Mapping[str, Sequence[str]]
"""What a rule is compared with, by name: several texts where one act has several names."""


class StrictModel(Model):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class RegexPattern(StrictModel):
    regex: Annotated[str, Field(min_length=1, max_length=1000)]
    """RE2, to match all of the text."""


type TextPattern = Annotated[str, Field(min_length=1, max_length=1000)] | RegexPattern
"""A glob with `*`, `?` and `[ab]`, or an object with `regex`, to match all of the text."""


class ApprovalMatch(StrictModel):
    """What a rule is for. Everything that is given has to match; nothing given matches every act of the subject."""

    command: TextPattern | None = None
    """`shell`: a command of the line, its words with one blank between them, such as `git push*`. Git's global options are left out."""
    effect: CommandEffect | None = None
    """`shell`: what a command does, as far as its words say."""
    line: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)] | None = None
    """`shell`: the whole line, exactly."""
    directory: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)] | None = None
    """`shell`: the directory that the call names for the line, exactly."""
    host: TextPattern | None = None
    """`navigation`, `submit`, `download`: the host, such as `*.bank.example`, as Punycode, in any case, without a port."""
    url: TextPattern | None = None
    """`navigation`, `submit`, `download`: the whole URL, without its fragment and user, with nothing encoded that needs no encoding.

    A URL that servers read in different ways is refused where it may match.
    """
    file: TextPattern | None = None
    """`download`: the name that the page suggests, in any case."""
    tool: TextPattern | None = None
    """`tool`: an operation by its tool or by its name, such as `jupyter.*`, or `server_tool` of an MCP server."""

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        for name, pattern in self.patterns:
            try:
                _check_host(pattern) if name == "host" else None
                compiled(pattern, folded=name in FOLDED)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return self

    @property
    def patterns(self) -> list[tuple[str, "str | RegexPattern"]]:
        """The patterns that are given, by name."""
        names = ("command", "host", "url", "file", "tool")
        return [(name, pattern) for name in names if (pattern := getattr(self, name)) is not None]


_FIELDS: dict[ActSubject, frozenset[str]] = {
    "shell": frozenset({"command", "effect", "line", "directory"}),
    "navigation": frozenset({"host", "url"}),
    "submit": frozenset({"host", "url"}),
    "download": frozenset({"host", "url", "file"}),
    "tool": frozenset({"tool"}),
}


class ApprovalRule(StrictModel):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$")]
    """Unique. Questions and refusals name it."""
    subject: ActSubject
    match: ApprovalMatch = ApprovalMatch()
    action: ApprovalAction = "ask"
    on_timeout: TimeoutAction = "deny"
    """What follows if nobody answers in time."""
    seconds: Annotated[float, Field(ge=1, le=3600)] | None = None
    """How long a person may take. Default: `APPROVAL_SECONDS`."""

    @model_validator(mode="after")
    def _matches_its_subject(self) -> Self:
        given = {name for name in self.match.model_fields_set if getattr(self.match, name) is not None}
        if wrong := sorted(given - _FIELDS[self.subject]):
            raise ValueError(f"match.{wrong[0]} is not for the subject {self.subject}")
        return self


class ApprovalPolicyDocument(StrictModel):
    rules: Annotated[list[ApprovalRule], Field(max_length=MAX_RULES)] = Field(default_factory=list)
    """The first rule that matches decides. What none matches is allowed."""

    @model_validator(mode="after")
    def _has_distinct_names(self) -> Self:
        names = [rule.name for rule in self.rules]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two rules are named {twice!r}")
        return self


def compiled(pattern: "str | RegexPattern", *, folded: bool = False) -> patterns.Pattern[str]:
    """Return a pattern of a rule, ready to match; with `folded`, texts in lower case. Raises ValueError."""
    if isinstance(pattern, str):
        return patterns.glob(pattern.lower() if folded else pattern)
    return patterns.compile(f"(?s{'i' * folded}){pattern.regex}")


def _check_host(pattern: "str | RegexPattern") -> None:
    """Raise ValueError for a glob that no host can match: its rule would silently be about nothing."""
    if not isinstance(pattern, str):
        return
    if not pattern.isascii():
        raise ValueError("hosts are compared as Punycode: write xn--...")
    if "/" in pattern or "@" in pattern or pattern.endswith(".") or _PORT.fullmatch(pattern):
        raise ValueError("this is a host alone, without scheme, user, port, path and final dot; for the others there is url")


@dataclass(frozen=True, slots=True)
class UnclearUrl:
    """A URL with two readings: what stands before its path, with the slash, and why it has two."""

    origin: str
    why: str

    def matches(self, pattern: "str | RegexPattern") -> bool | None:
        """Whether a pattern matches it, whichever way it is read; None if that depends."""
        if not isinstance(pattern, str):
            return None
        literal = pattern[: min((at for mark in "*?[" if (at := pattern.find(mark)) >= 0), default=len(pattern))]
        if not (literal.startswith(self.origin) or self.origin.startswith(literal)):
            return False
        whole = self.origin.startswith(literal) and set(pattern[len(literal) :]) == {"*"}
        return True if whole else None


class UnclearAct(Exception):
    """A rule may be about an act, or not; `why` says what of it has two readings."""

    def __init__(self, rule: ApprovalRule, why: str) -> None:
        super().__init__(why)
        self.rule = rule
        self.why = why


@dataclass(frozen=True)
class ApprovalPolicy:
    """A document, ready to decide."""

    document: ApprovalPolicyDocument

    @cached_property
    def etag(self) -> str:
        """A hash of the document, in quotes."""
        canonical = json.dumps(dumped(self.document), sort_keys=True)
        return f'"{hashlib.sha256(canonical.encode()).hexdigest()[:32]}"'

    @cached_property
    def _rules(self) -> list[tuple[ApprovalRule, dict[str, patterns.Pattern[str]]]]:
        return [
            (rule, {name: compiled(pattern, folded=name in FOLDED) for name, pattern in rule.match.patterns})
            for rule in self.document.rules
        ]

    def guards(self, subject: ActSubject) -> bool:
        """Whether any rule of a subject asks or denies."""
        return any(rule.subject == subject and rule.action != "allow" for rule in self.document.rules)

    def decide(self, subject: ActSubject, fields: ActFields, unclear: UnclearUrl | None = None) -> ApprovalRule | None:
        """Return the first rule that matches an act; None if none does.

        `unclear` is in the place of the field `url` of a URL with two readings. Raises UnclearAct for a rule that may match it.
        """
        fields = {name: [text.lower() for text in texts] if name in FOLDED else texts for name, texts in fields.items()}
        for rule, compiled_patterns in self._rules:
            if rule.subject != subject:
                continue
            compared = {name: pattern for name, pattern in compiled_patterns.items() if not (unclear and name == "url")}
            if not all(_any_matches(pattern, fields.get(name, ())) for name, pattern in compared.items()):
                continue
            matches = True if unclear is None or rule.match.url is None else unclear.matches(rule.match.url)
            if matches is None:
                raise UnclearAct(rule, unclear.why if unclear else "")
            if matches:
                return rule
        return None

    def decide_line(self, line: str, acts: Iterable[CommandAct], directory: str | None = None) -> ApprovalRule | None:
        """Return the rule for a shell line: of the rules of its commands, the strictest one. `directory` is what its call names."""
        found = [rule for act in acts if (rule := self._decide_command((line, directory), act))]
        strictest = ("deny", "ask", "allow")
        return min(found, key=lambda rule: strictest.index(rule.action), default=None)

    def _decide_command(self, line: tuple[str, str | None], act: CommandAct) -> ApprovalRule | None:
        return next((rule for rule, compiled_patterns in self._rules if _matches_command(rule, compiled_patterns, line, act)), None)


def _matches_command(rule: ApprovalRule, found: Mapping[str, patterns.Pattern[str]], line: tuple[str, str | None], act: CommandAct) -> bool:
    """Whether a rule matches a command of a line in a directory. One that nobody can tell matches every rule that asks or denies."""
    if rule.subject != "shell":
        return False
    if rule.match.directory not in (None, line[1]) or rule.match.line not in (None, line[0]):
        return False
    if act.unclear and rule.match.line is None and rule.action != "allow":
        return True
    if rule.match.effect is not None and rule.match.effect not in act.effects:
        return False
    command = found.get("command")
    if command is None:
        return True
    texts = (act.text,) if rule.action == "allow" else (act.text, act.by_name)
    return not act.unclear and _any_matches(command, texts)


def _any_matches(pattern: patterns.Pattern[str], texts: Iterable[str]) -> bool:
    return any(pattern.fullmatch(text) for text in texts)


def dumped(document: ApprovalPolicyDocument) -> dict[str, Any]:
    """Return a document as JSON has it, without what is not given."""
    return document.model_dump(mode="json", exclude_defaults=True)
