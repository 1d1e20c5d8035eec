"""No text from outside meets a pattern that backtracks: `re` has constant patterns that are proven linear, all else is `patterns`."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from tests.ambiguity import problem
from tests.sources import tree_of

ROOT = Path(__file__).parent.parent
ENGINE = "sandbox_server/patterns.py"
"""The one module that imports RE2."""
MATCHING = ("match", "fullmatch")
SEARCHING = ("search", "sub", "subn", "split", "findall", "finditer")
HARMLESS = ("escape", "Match", "Pattern", "IGNORECASE", "DOTALL", "MULTILINE", "VERBOSE", "ASCII")
"""What else a module may use of `re`."""
BANNED = ("fnmatch", "re2", "regex", "sre_compile", "sre_parse", "re._compiler", "glob.translate", "jsonschema")
"""What matches text, or makes patterns, otherwise."""

SOURCES = sorted((ROOT / "sandbox_server").rglob("*.py"))


def name_of(file: Path) -> str:
    """The file within the repository."""
    return str(file.relative_to(ROOT))


def imported(tree: ast.Module) -> Iterator[str]:
    """What a module imports, each name as it is called, with ` as ` where it is called otherwise."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            before = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from (f"{before}{each.name}{' as ' if each.asname else ''}" for each in node.names)


def used(tree: ast.Module, of: str) -> Iterator[ast.Attribute]:
    """Attributes that a module takes of a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == of:
            yield node


def test_one_module_alone_has_another_engine() -> None:
    found = [f"{name_of(file)}: {name}" for file in SOURCES for name in other_engines(tree_of(file))]
    assert found == [f"{ENGINE}: re2"], "\n".join(found)


def other_engines(tree: ast.Module) -> Iterator[str]:
    """What a module uses of what matches text, or makes patterns, otherwise than `re` does."""
    yield from (name for name in imported(tree) if name.startswith(BANNED) or name.startswith(("re.", "re as ")))
    yield from (f"glob.{each.attr}" for each in used(tree, "glob") if each.attr == "translate")
    yield from (each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute) and each.attr == "full_match")


def test_a_pattern_of_a_module_is_constant_and_linear() -> None:
    users = [file for file in SOURCES if re.search(r"\bre\.", file.read_text("utf-8"))]
    wrong = [f"{name_of(file)}: {found}" for file in users for found in problems(file)]
    assert not wrong, "\n".join(wrong)


def problems(file: Path) -> Iterator[str]:
    """What is wrong with a module's use of `re`."""
    tree = tree_of(file)
    at_the_top = {call: names for node in tree.body for call, names in compiled(node)}
    for attribute in used(tree, "re"):
        if attribute.attr not in (*MATCHING, *SEARCHING, *HARMLESS, "compile"):
            yield f"line {attribute.lineno}: re.{attribute.attr} is not known here"
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        function = call.func
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"):
            continue
        if function.attr == "compile" and call not in at_the_top:
            yield f"line {call.lineno}: what is compiled is a constant of the module"
        elif function.attr in (*MATCHING, *SEARCHING):
            yield from inline(call, function.attr)
    if at_the_top:
        yield from constants(file, tree, {name for names in at_the_top.values() for name in names})


def compiled(node: ast.stmt) -> Iterator[tuple[ast.Call, list[str]]]:
    """Calls of `re.compile` whose result is a constant of the module, or in one, and its name."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    for call in ast.walk(node) if names else ():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
            yield call, names


def inline(call: ast.Call, how: str) -> Iterator[str]:
    """What is wrong with a pattern that stands where it is used."""
    if not isinstance(call.args[0], ast.Constant) or len(call.args) > 3 or call.keywords:
        yield f"line {call.lineno}: the pattern is no constant, or has flags"
    elif wrong := problem(str(call.args[0].value), searched=how in SEARCHING):
        yield f"line {call.lineno}: {wrong}"


def constants(file: Path, tree: ast.Module, names: set[str]) -> Iterator[str]:
    """What is wrong with compiled constants; one that is used for anything but matching counts as searched for."""
    module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    for name in sorted(names):
        loads = sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in ast.walk(tree))
        matches = sum(attribute.attr in (*MATCHING, "pattern") for attribute in used(tree, name))
        value = getattr(module, name)
        for pattern in value.values() if isinstance(value, dict) else [value]:
            if wrong := problem(pattern.pattern, pattern.flags & ~re.UNICODE, searched=loads > matches):
                yield f"{name}: {wrong}"


def test_models_check_patterns_with_the_engine_that_does_not_backtrack() -> None:
    assert [name_of(file) for file in SOURCES if "python-re" in file.read_text("utf-8")] == []


NGINX = re.compile(r'"(?P<quoted>~\*?[^"]+)"|(?:location|proxy_redirect) (?P<bare>~\*? ?[^"\s]+) ')
ONE_LOOP = ("^[^?]*(/|", "^(GET|HEAD)::.*text/html")
"""One repeat that begins where the text does, and one thing of a bounded length to find after it: as many steps as the line is long."""


def test_the_gateways_patterns_are_linear() -> None:
    found = [
        (shown.startswith("~*"), shown.removeprefix("~").removeprefix("*").lstrip())
        for file in sorted((ROOT / "nginx").rglob("*.conf"))
        for line in file.read_text("utf-8").splitlines()
        if not line.lstrip().startswith("#")
        for shown in ("".join(groups) for groups in NGINX.findall(line))
    ]
    assert len(found) > 20
    wrong = {pattern: problem(in_python(pattern), re.IGNORECASE if folded else 0, searched=True) for folded, pattern in found}
    assert [pattern for pattern, why in wrong.items() if why and not pattern.startswith(ONE_LOOP)] == []


def in_python(pattern: str) -> str:
    """A pattern of PCRE; a reference back is to what was matched before a space, so it may be any word here."""
    named = re.sub(r"\(\?<([a-z_]+)>", r"(?P<\1>", pattern)
    return re.sub(r"\\k<[a-z_]+>", r"\\S*", named)
