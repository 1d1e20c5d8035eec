"""Fields of a request that its operation does not have: which they are, and which ones may have been meant.

A request over HTTP ignores them, as the contract does, and its answer names them in a hint.
"""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import UnionType
from typing import Annotated, Any, Literal, TypeAliasType, Union, get_args, get_origin

from pydantic import BaseModel, RootModel

MAX_NAMED = 5
"""Fields that a hint names; of more it tells that there are more."""
MAX_KNOWN = 20
"""Fields of the operation that a hint names."""
MAX_NAME = 60
"""Characters of a name."""
MAX_VISITS = 5_000
"""Names that are looked at in one request."""
SIMILAR = 0.75
"""How much of two names must be the same, of 1."""
SYNONYMS = (
    ("amount", "count", "limit", "max", "max_results"),
    ("async", "async_mode", "background", "run_in_background"),
    ("body", "code", "content", "data", "file_text", "input", "script", "source", "stdin", "text", "value"),
    ("bash", "cmd", "command", "commands", "shell_command"),
    ("chdir", "cwd", "dir", "directory", "exec_dir", "workdir", "working_dir", "working_directory"),
    ("comment", "description", "message", "note", "reason", "instructions"),
    ("dest", "destination", "target", "to"),
    ("duration", "max_wait_seconds", "seconds", "timeout", "timeout_ms", "timeout_seconds", "ttl", "wait"),
    ("env", "environ", "environment", "variables"),
    ("exclude", "ignore", "skip"),
    ("file", "file_name", "file_path", "filename", "filepath", "path"),
    ("find", "keyword", "pattern", "query", "regex", "search"),
    ("force", "overwrite", "replace"),
    ("address", "href", "link", "uri", "url"),
    ("label", "name", "tag", "title"),
    ("id", "identifier", "name", "session", "session_id"),
    ("css", "element", "ref", "selector", "xpath"),
    ("key", "keys", "shortcut"),
    ("lang", "language", "locale"),
    ("new", "new_str", "new_string", "new_text", "replacement"),
    ("old", "old_str", "old_string", "old_text"),
)
"""Words that other interfaces use for the same thing; of a word with two meanings the likelier one comes first."""

_ANYTHING = (Any, object)
_LISTS = (list, tuple, set, frozenset, Sequence)
_OBJECTS = (dict, Mapping)


@dataclass(frozen=True, slots=True)
class UnknownField:
    """One of them."""

    name: str
    at: str
    """What it is in: empty for the request itself, else as in `isolation.`."""
    free: frozenset[str]
    """The fields that are there in its place and were not given."""

    @property
    def suggestion(self) -> str | None:
        """The field that may have been meant."""
        return suggestion(self.name, self.free)

    def __str__(self) -> str:
        meant = self.suggestion
        return quoted(self.at + self.name) + (f" (did you mean {quoted(self.at + meant)}?)" if meant else "")


def unknown_fields(model: type[BaseModel] | None, fields: Mapping[str, object]) -> list[UnknownField]:
    """The fields of a request, and of the objects in it, that are not its model's; not all of a great many."""
    if model is None:
        return [UnknownField(name, "", frozenset()) for name in islice(fields, MAX_VISITS)]
    return _Search().in_model(model, fields, "") or []


def hint(model: type[BaseModel] | None, fields: Mapping[str, object], *, inner_only: bool = False) -> str | None:
    """A sentence for the caller that names the unknown fields; None where there is none.

    `inner_only` is for surfaces that refuse those of the request itself.
    """
    unknown = [each for each in unknown_fields(model, fields) if each.at or not inner_only]
    if not unknown:
        return None
    named = unknown[:MAX_NAMED]
    more = f" and {len(unknown) - MAX_NAMED} more" if len(unknown) > MAX_NAMED else ""
    ignored = f"Ignored unknown field{'s' if len(unknown) > 1 else ''} {', '.join(map(str, named))}{more}."
    if all(each.at or each.suggestion for each in named):
        return ignored
    return f"{ignored} {fields_sentence(names_of(model) if model else ())}"


def fields_sentence(known: Collection[str]) -> str:
    """Which fields there are."""
    names = sorted(known)
    if not names:
        return "There are no fields here."
    rest = f" and {len(names) - MAX_KNOWN} more" if len(names) > MAX_KNOWN else ""
    return f"The fields are {', '.join(names[:MAX_KNOWN])}{rest}."


def names_of(model: type[BaseModel]) -> dict[str, Any]:
    """The fields of a request with their annotations; those of a union are all that one of its models has."""
    if not issubclass(model, RootModel):
        return {name: found.annotation for name, found in model.model_fields.items()}
    inner = [each for each in _alternatives(model.model_fields["root"].annotation) if _is_model(each)]
    return {name: annotation for each in inner for name, annotation in names_of(each).items()}


def suggestion(name: str, known: Collection[str]) -> str | None:
    """The one of the known names that a caller may have meant."""
    given = name[:MAX_NAME].lower()  # of a name as large as a body no copy is made
    plain = {_plain(each): each for each in sorted(known)}
    if found := plain.get(_plain(given)):
        return found
    if close := difflib.get_close_matches(_plain(given), plain, n=1, cutoff=SIMILAR):
        return plain[close[0]]
    same = [[each for each in words if each in known] for words in SYNONYMS if given in words]
    return next((each[0] for each in same if len(each) == 1), None)


def quoted(name: str) -> str:
    """A name in quotes, short, on one line and without control characters."""
    short = _cut(name)
    return f"'{short}'" if short.isprintable() else ascii(short)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


@dataclass(slots=True)
class _Search:
    """Looks through a request beside the types that it should have; gives up after so many names."""

    left: int = field(default=MAX_VISITS)

    def in_model(self, model: type[BaseModel], value: object, at: str) -> list[UnknownField] | None:
        """The unknown fields of an object; None where it is no object of that model."""
        if issubclass(model, RootModel):
            return self.in_value(model.model_fields["root"].annotation, value, at)
        known = names_of(model)
        if not isinstance(value, dict) or not _may_be(known, value):
            return None
        if model.model_config.get("extra") in ("allow", "forbid"):  # what is forbidden is refused by its name
            value = {name: value[name] for name in known if name in value}
        free, found = frozenset(known) - value.keys(), list[UnknownField]()
        for name, inner in self._visited(value.items()):
            if name in known:
                found += self.in_value(known[name], inner, f"{at}{name}.") or []
            else:
                found.append(UnknownField(name, at, free))
        return found

    def in_value(self, annotation: Any, value: object, at: str) -> list[UnknownField] | None:
        """The same of a value of any type; None where it is not of that type."""
        if not isinstance(value, dict | list):
            return []
        tried = [self._in_alternative(each, value, at) for each in _alternatives(annotation)]
        return min((found for found in tried if found is not None), key=len, default=None)

    def _in_alternative(self, annotation: Any, value: dict[str, Any] | list[Any], at: str) -> list[UnknownField] | None:
        if _is_model(annotation):
            return self.in_model(annotation, value, at)
        if annotation in _ANYTHING:
            return []
        container = get_origin(annotation) or annotation
        if container not in (_LISTS if isinstance(value, list) else _OBJECTS):
            return None
        inner = [each for each in get_args(annotation) if each is not Ellipsis] or [Any]
        items = self._visited(value.items() if isinstance(value, dict) else enumerate(value))
        return [found for name, each in items for found in self.in_value(inner[-1], each, f"{at}{_cut(str(name))}.") or []]

    def _visited(self, items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            if self.left <= 0:
                return
            self.left -= 1
            yield item


def _cut(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…"


def _alternatives(annotation: Any) -> list[Any]:
    """What an annotation may be, without aliases and marks."""
    if isinstance(annotation, TypeAliasType):
        return _alternatives(annotation.__value__)
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [found for each in get_args(annotation) for found in _alternatives(each)]
    return [annotation]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _may_be(known: Mapping[str, Any], value: dict[str, Any]) -> bool:
    """Whether an object has the words by which its model is told from others."""
    return all(
        value[name] in get_args(annotation)
        for name, annotation in known.items()
        if get_origin(annotation) is Literal and isinstance(value.get(name), str)
    )
