"""The table of what cannot hold under gVisor names tests that exist."""

import ast
from pathlib import Path

from tests.image.gvisor_reasons import MODULES, TESTS, reason

HERE = Path(__file__).parent


def names_in(module: str) -> set[str]:
    """The names of a module's tests."""
    tree = ast.parse((HERE / f"{module}.py").read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")}


def test_every_module_and_test_that_is_named_exists() -> None:
    modules = {path.stem for path in HERE.glob("test_*.py")}
    assert set(MODULES) <= modules
    named = {tuple(name.partition("[")[0].split("::")) for name in TESTS}
    assert {each for each in named if each[1] not in names_in(each[0])} == set()


def test_no_test_is_named_twice_and_none_without_a_reason() -> None:
    assert {name for name in TESTS if name.partition("::")[0] in MODULES} == set()
    assert all(why.strip() for why in (*MODULES.values(), *TESTS.values()))


def test_a_reason_is_found_by_module_by_test_and_by_case() -> None:
    module, test = next(iter(MODULES)), next(iter(TESTS))
    assert reason(f"tests/image/{module}.py::test_x") == MODULES[module]
    name = test.replace("::", ".py::", 1)
    assert reason(f"tests/image/{name}") == TESTS[test]
    assert reason("tests/image/test_nothing.py::test_x") is None
