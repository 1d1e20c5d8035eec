"""The shape of the repository: file sizes, names, and a test for every module."""

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from tests.sources import files, imports, longer_than, nodes_of, under

ROOT = Path(__file__).parent.parent
OURS = ROOT / "sandbox_server"
CLIENT = ROOT / "clients" / "python"
MAX_LINES = 600
"""The gate warns before (`tests/style_warnings.py`)."""
MAX_MEDIAN = 10
FORBIDDEN_FOLDERS = {"routers", "services", "models", "schemas", "utils", "helpers"}
FORBIDDEN_CLASS = re.compile(r"(Manager|Helper|Util|Utils|Handler|Impl|Data|Info)$|^Base[A-Z]")


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a Python file."""
    for node in nodes_of(file):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    start = function.body[1].lineno if ast.get_docstring(function) and len(function.body) > 1 else function.body[0].lineno
    return (function.end_lineno or start) - start + 1


def modules() -> list[Path]:
    """Every module that does something, relative to the package; one of models alone does nothing."""
    found = (file for file in OURS.rglob("*.py") if any(functions(file)))
    return sorted(file.relative_to(OURS) for file in found)


def mirrored(module: Path) -> Path:
    """Where the test of a module belongs."""
    if module.name == "__init__.py":
        return ROOT / "tests" / module.parent.parent / f"test_{module.parent.name}.py"
    return ROOT / "tests" / module.parent / f"test_{module.stem.strip('_')}.py"


def test_no_file_has_grown_over_the_limit() -> None:
    assert longer_than(MAX_LINES, ROOT) == {}


def test_folders_are_named_by_noun_and_not_by_layer() -> None:
    wrong = {str(file.parent.relative_to(ROOT)) for file in files(ROOT) if FORBIDDEN_FOLDERS & set(file.parent.relative_to(ROOT).parts)}
    assert wrong == set()


def test_classes_are_named_for_what_they_are() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}: {node.name}"
        for file in OURS.rglob("*.py")
        for node in nodes_of(file)
        if isinstance(node, ast.ClassDef) and FORBIDDEN_CLASS.search(node.name)
    ]
    assert wrong == []


def test_public_classes_have_names_of_their_own() -> None:
    places: dict[str, list[str]] = {}
    for file in sorted(OURS.rglob("*.py")):
        for node in nodes_of(file):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(file.relative_to(OURS)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_functions_are_short() -> None:
    lengths = [body_lines(function) for file in OURS.rglob("*.py") for function in functions(file)]
    assert statistics.median(lengths) < MAX_MEDIAN


def client_modules() -> list[Path]:
    """Every module of the Python client, and of what builds it, that does something."""
    return sorted(file.relative_to(CLIENT) for file in CLIENT.rglob("*.py") if any(functions(file)))


def mirrored_of_client(module: Path) -> Path:
    """Where the test of a module of the Python client belongs."""
    name = module.parent.name if module.name == "__init__.py" else module.stem
    folder = "integrations/" if "integrations" in module.parts else ""
    return ROOT / f"tests/clients/python/{folder}test_{name}.py"


def is_tested(dotted: str, own: Path) -> bool:
    """Whether a module has a test of its own, or a test beside where that would be imports it; a package needs its own."""
    return own.is_file() or any(under(name, (dotted,)) for test in own.parent.glob("test_*.py") for name in imports(test))


def test_every_module_has_its_test() -> None:
    own = {".".join((OURS.name, *module.with_suffix("").parts)): mirrored(module) for module in modules()}
    own |= {".".join(module.with_suffix("").parts): mirrored_of_client(module) for module in client_modules()}
    missing = [f"{dotted}: {test.relative_to(ROOT)} is missing" for dotted, test in own.items() if not is_tested(dotted, test)]
    assert not missing, "\n".join(missing)


def test_a_neighbour_that_imports_a_module_is_its_test(tmp_path: Path) -> None:
    own = tmp_path / "test_errors.py"
    (tmp_path / "test_dispatch.py").write_text(
        "from sandbox_server.core.dispatch import Dispatcher\nfrom sandbox_server.core import tasks\n"
    )
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "test_far.py").write_text("import sandbox_server.core.errors\n")
    assert is_tested("sandbox_server.core.dispatch", own)
    assert is_tested("sandbox_server.core.tasks", own)
    assert not is_tested("sandbox_server.core.errors", own)
    assert not is_tested("sandbox_server.core.__init__", own)
    own.touch()
    assert is_tested("sandbox_server.core.errors", own)
