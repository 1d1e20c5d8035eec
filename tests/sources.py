"""The files of the repository that hold code, and what they import."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TREES = ("sandbox_server", "clients", "tests", "custom_tools", "examples", "benchmarks", "nginx", "supervisord", "scripts")
CODE = (".py", ".js", ".mjs", ".css", ".html", ".conf", ".sh")
THIRD_PARTY = "vendor"


def files(root: Path) -> Iterator[Path]:
    """Every file of ours in the trees that hold code."""
    for tree in TREES:
        for file in sorted((root / tree).rglob("*")):
            if file.is_file() and not {"__pycache__", THIRD_PARTY} & set(file.parts):
                yield file


def longer_than(lines: int, root: Path) -> dict[str, int]:
    """The files of code with more lines, and how many each has."""
    counted = {str(file.relative_to(root)): len(file.read_text("utf-8").splitlines()) for file in files(root) if file.suffix in CODE}
    return {name: count for name, count in counted.items() if count > lines}


@cache
def tree_of(file: Path) -> ast.Module:
    """What a Python file says, parsed once for all who look."""
    return ast.parse(file.read_text("utf-8"))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Every node of a Python file's tree."""
    return tuple(ast.walk(tree_of(file)))


def imports(file: Path) -> Iterator[str]:
    """Every module or name that a file imports, as one dotted name."""
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def under(name: str, parents: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of the parents or inside one."""
    return any(name == parent or name.startswith(f"{parent}.") for parent in parents)
