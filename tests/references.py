"""What texts of the repository refer to, and which of that does not exist: links, paths, modules, variables, operations, decisions.

A reference is what stands between backticks, the target of a Markdown link, or the name of a page below `docs/` with a section in quotes.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path

from sandbox_server import settings

TREES = (
    "sandbox_server",
    "tests",
    "nginx",
    "supervisord",
    "docs",
    "scripts",
    "benchmarks",
    "custom_tools",
    "examples",
    "deploy",
    "requirements",
)
SKIPPED = frozenset({"vendor", "node_modules", "__pycache__"})
CODE = frozenset({".py", ".js", ".mjs", ".cjs", ".c", ".h", ".conf", ".sh", ".css", ".html", ".txt", ""})
PACKAGE = "sandbox_server"
_SPAN = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"(?ms)^ *```.*?^ *```$")
_IMPORT = re.compile(rf"(?m)^ *from ({PACKAGE}[.\w]*) import ([\w, ]+)$")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\(([^()\s]+)\)")
_COMMENT = re.compile(r"^\s*(?:#|//|/?\*|;)(.*)$|\s(?://|#)\s(.*)$", re.MULTILINE)
_DOCSTRING = re.compile(r'(?s)"""(.*?)"""')
_HEADING = re.compile(r"(?m)^#+ (.+)$")
_PAGE = re.compile(r'(?<![\w/.-])(docs/(?:decisions/)?[\w-]+\.md)(?:, "([^"\n]+)")?')
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_SOURCE = re.compile(r"[a-z_]\w*(?:/[\w<>{}*.-]+)+\.(?:py|js|mjs|cjs|c|h|conf)(?:::\w+)?")
_MODULE = re.compile(rf"{PACKAGE}(?:\.\w+)+")
_COMMAND = re.compile(rf"(?:python3? -m )?{PACKAGE} ([a-z][a-z-]*)")
_OPERATION = re.compile(r"(?:(GET|HEAD|POST|PUT|PATCH|DELETE) )?(/v1(?:/[^\s?#]*)?)(?:[?#]\S*)?(?: .*)?")
_DECISION = re.compile(r"\b[Dd]ecisions?[ /](\d{1,4})\b")
_NUMBERED = re.compile(r"(?:[Dd]ecision )?(\d{4})")
_OPEN = re.compile(r"<[^<>]*>|\{[^{}]*\}|\.\.\.|…|\*+")


@dataclass(frozen=True)
class Text:
    """A text that may refer to things: `prose` is what is read of it."""

    path: Path
    """Where it is, relative to the repository."""
    prose: str
    code: str = ""
    """The blocks of code of a page."""

    @property
    def is_page(self) -> bool:
        return self.path.suffix == ".md"


def text_of(path: Path, content: str) -> Text:
    """A file as what is read of it."""
    return Text(path, prose_of(path, content), "\n".join(_FENCE.findall(content)) if path.suffix == ".md" else "")


def prose_of(path: Path, content: str) -> str:
    """What is read of a file: a page without its blocks of code, the docstrings and comments of code."""
    if path.suffix == ".md":
        return _FENCE.sub("", content)
    docstrings = _DOCSTRING.findall(content) if path.suffix in (".py", "") else []
    return "\n".join([*docstrings, *(first or second for first, second in _COMMENT.findall(content))])


class Repository:
    """What there is to refer to."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self) -> Iterator[Path]:
        """Every file of ours, relative to the root."""
        yield from sorted(file.relative_to(self.root) for file in self.root.iterdir() if file.is_file())
        for tree in TREES:
            for file in sorted((self.root / tree).rglob("*")):
                found = file.relative_to(self.root)
                if file.is_file() and not SKIPPED & set(found.parts):
                    yield found

    @cached_property
    def texts(self) -> list[Text]:
        """The pages, and the code with its comments."""
        return [
            text_of(file, (self.root / file).read_text("utf-8", "replace"))
            for file in self.files()
            if file.suffix in CODE | {".md"} and not file.name.startswith(".")
        ]

    def exists(self, path: str, beside: Path) -> bool:
        """Whether a path is there, below the root or beside the file that names it or one of its folders.

        What is left open in it (`<name>`, `{name}`, `*`, `...`) may be anything.
        """
        wanted = _OPEN.sub("*", path).rstrip("/")
        return any(self._is_below(self.root / folder, wanted) for folder in (Path(), Path(PACKAGE), *beside.parents))

    def _is_below(self, folder: Path, wanted: str) -> bool:
        return any(folder.glob(f"{wanted}*")) if "*" in wanted else (folder / wanted).exists()

    def has_anchor(self, page: Path, anchor: str) -> bool:
        """Whether a page has a heading of that anchor."""
        return anchor in _anchors(self.root / page)

    def has_section(self, page: Path, words: str) -> bool:
        """Whether a page has a heading that holds some words."""
        return any(slug(words) in anchor for anchor in _anchors(self.root / page))

    def has_test(self, file: str, name: str) -> bool:
        """Whether a file defines a test."""
        return re.search(rf"(?m)^\s*(?:async )?def {re.escape(name)}\(", (self.root / file).read_text("utf-8")) is not None

    def has_decision(self, number: str) -> bool:
        """Whether there is a decision of that number."""
        return any((self.root / "docs" / "decisions").glob(f"{int(number):04d}-*.md"))

    def has_module(self, dotted: str) -> bool:
        """Whether a dotted name is a package, a module, or something that one of them names."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            place = self.root.joinpath(*parts[:length])
            module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            if place.is_dir() or module.is_file():
                rest = parts[length:]
                return not rest or (module.is_file() and re.search(rf"\b{re.escape(rest[0])}\b", module.read_text("utf-8")) is not None)
        return False

    def has_package(self, path: str) -> bool:
        """Whether a path begins with a package of ours."""
        return (self.root / PACKAGE / path.partition("/")[0]).is_dir()

    @cached_property
    def commands(self) -> frozenset[str]:
        """The commands of `python -m sandbox_server`."""
        return frozenset(re.findall(r'add\("([a-z-]+)"', (self.root / PACKAGE / "__main__.py").read_text("utf-8")))

    @cached_property
    def words(self) -> frozenset[str]:
        """Names in capitals that the settings declare or the code uses, not those that it only talks about between backticks."""
        return self.settings | {name for each in self._sources for name in _VARIABLE.findall(_SPAN.sub("", each))}

    @cached_property
    def settings(self) -> frozenset[str]:
        """The container's variables."""
        return frozenset(known.name for _, known in settings.variables())

    def knows_variable(self, name: str) -> bool:
        """Whether a name in capitals is a setting, is used by the code, or begins as no setting does and so is somebody else's."""
        begins = {known.partition("_")[0] for known in self.settings}
        return name in self.words or name.partition("_")[0] not in begins or any(fnmatchcase(name, known) for known in self.settings)

    @cached_property
    def _sources(self) -> list[str]:
        """What runs, and what builds and checks it; not the tests, which name what is not there."""
        code = (file for file in self.files() if file.suffix in CODE and file.parts[0] != "tests")
        return [(self.root / file).read_text("utf-8", "replace") for file in code]

    @cached_property
    def _operations(self) -> dict[tuple[str, ...], frozenset[str]]:
        """The verbs of each path of the API, by the path's segments."""
        paths = json.loads((self.root / PACKAGE / "openapi.json").read_text("utf-8"))["paths"]
        return {tuple(path.strip("/").split("/")): frozenset(verb.upper() for verb in verbs) for path, verbs in paths.items()}

    @cached_property
    def _routes(self) -> str:
        """Where paths stand that are no operation: sockets, pages, the gateway's own."""
        return "\n".join(_SPAN.sub("", each) for each in self._sources if '"/v1' in each or "location" in each)

    def answers(self, verb: str, path: str) -> bool:
        """Whether a path of the API is an operation's, the beginning of some, or a route of another kind."""
        path = path.rstrip("/")
        wanted = tuple(_OPEN.sub("*", part) for part in path.strip("/").split("/"))
        longer = [segments for segments in self._operations if len(segments) >= len(wanted) and _fits(wanted, segments)]
        verbs = {known for segments in longer if len(segments) == len(wanted) for known in self._operations[segments]}
        if verb and verbs:
            return verb in verbs
        return (bool(longer) and not verb) or any(f"{path}{end}" in self._routes for end in ('"', " ", "/"))


def _fits(wanted: tuple[str, ...], segments: tuple[str, ...]) -> bool:
    return all(part == "*" or part == own or own.startswith("{") for part, own in zip(wanted, segments, strict=False))


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def _anchors(page: Path) -> frozenset[str]:
    return frozenset(slug(title) for title in _HEADING.findall(_FENCE.sub("", page.read_text("utf-8"))))


def wrong_in(text: Text, repository: Repository) -> Iterator[str]:
    """Each reference of a text to something that is not there."""
    for reference in _SPAN.findall(text.prose):
        yield from wrong_span(text, reference, repository)
    for page, title in _PAGE.findall(text.prose):
        if not (repository.root / page).is_file() or (title and not repository.has_section(Path(page), title)):
            yield f"{page}, {title!r}" if title else page
    if text.is_page:
        yield from wrong_links(text, repository)
        yield from wrong_imports(text, repository)
    yield from (f"decision {number}" for number in _DECISION.findall(text.prose) if not repository.has_decision(number))


def wrong_links(text: Text, repository: Repository) -> Iterator[str]:
    """Links of a page that lead nowhere, or to another decision than they say."""
    for words, target in _LINK.findall(_SPAN.sub("", text.prose)):
        if ":" in target or target.startswith("/"):
            continue
        path, _, anchor = target.partition("#")
        place = (repository.root / text.path.parent / path).resolve() if path else repository.root / text.path
        number = _NUMBERED.fullmatch(words)
        if (
            not place.exists()
            or (number and not place.name.startswith(number[1]))
            or (anchor and not repository.has_anchor(place.relative_to(repository.root.resolve()), anchor))
        ):
            yield f"[{words}]({target})"


def wrong_imports(text: Text, repository: Repository) -> Iterator[str]:
    """What the examples of a page import from us and is not there."""
    for module, names in _IMPORT.findall(text.code):
        wanted = (f"{module}.{name.split()[0]}" for name in names.split(",") if name.strip())
        yield from (name for name in wanted if not repository.has_module(name))


def wrong_span(text: Text, reference: str, repository: Repository) -> Iterator[str]:
    """What stands between backticks and names something of ours that is not there."""
    word = reference.split()[0].rstrip(",.;:") if reference.split() else ""
    if command := _COMMAND.fullmatch(reference):
        if command[1] not in repository.commands:
            yield reference
    elif word.startswith(tuple(f"{tree}/" for tree in TREES)) or (_SOURCE.fullmatch(word) and repository.has_package(word)):
        yield from wrong_path(text, word, repository)
    elif _MODULE.fullmatch(word):
        if not repository.has_module(word):
            yield word
    elif operation := _OPERATION.fullmatch(reference):
        if not repository.answers(operation[1] or "", operation[2]):
            yield reference
    elif text.is_page and _VARIABLE.fullmatch(name := word.partition("=")[0]) and not repository.knows_variable(name):
        yield word


def wrong_path(text: Text, word: str, repository: Repository) -> Iterator[str]:
    """A path that is not there, or a test that its file does not define."""
    path, _, name = word.partition("::")
    if not repository.exists(path, text.path) or (name and not repository.has_test(path, name)):
        yield word
