"""Who may import whom: the table of the architecture, held by the imports themselves."""

import ast
from pathlib import Path

import pytest

from tests.sources import imports, nodes_of, under

ROOT = Path(__file__).parent.parent
OURS = "sandbox_server"
SETTINGS = tuple(
    f"{OURS}.{name}"
    for name in (
        "settings",
        "auth_settings",
        "browser_settings",
        "control_settings",
        "desktop_settings",
        "handoff_settings",
        "hub_settings",
        "network_settings",
        "paths",
        "proxy_settings",
        "recorder_settings",
        "variables",
    )
)
PATTERNS = f"{OURS}.patterns"
TIMEOUTS = f"{OURS}.timeouts"
"""Both outside of `core`, whose own `__init__` loads far more than the spawner may."""

ALLOWED = {
    "cdp": (PATTERNS, TIMEOUTS, f"{OURS}.cdp", f"{OURS}.core", f"{OURS}.drivers", *SETTINGS),
    "cli": (f"{OURS}.cli",),
    "composition": (TIMEOUTS, *(f"{OURS}.{name}" for name in ("__version__", "composition", "core", "drivers", "features")), *SETTINGS),
    "core": (PATTERNS, TIMEOUTS, f"{OURS}.core"),
    "drivers": (
        f"{OURS}.core.entity_tags",
        f"{OURS}.core.errors",
        f"{OURS}.core.identity",
        PATTERNS,
        TIMEOUTS,
        f"{OURS}.core.tasks",
        f"{OURS}.core.events",
        f"{OURS}.core.quota",
        f"{OURS}.drivers",
        *SETTINGS,
    ),
    "egress": (TIMEOUTS, f"{OURS}.drivers", f"{OURS}.egress"),
    "features": (PATTERNS, TIMEOUTS, f"{OURS}.core", f"{OURS}.drivers", *SETTINGS),
    "mcp": (PATTERNS, TIMEOUTS, f"{OURS}.core", f"{OURS}.drivers", f"{OURS}.mcp", *SETTINGS),
    "stream": (PATTERNS, TIMEOUTS, f"{OURS}.core", f"{OURS}.drivers", f"{OURS}.stream", *SETTINGS),
}
"""What the modules of a package may import of ours. Features may also import modules of their own feature."""

FOREIGN = {"features": ("starlette", "mcp", "uvicorn"), "drivers": ("starlette", "mcp", "uvicorn"), "custom_tools": ("starlette", "mcp")}
"""What the modules of a package may not import of others'."""

STARTERS = (f"{OURS}/boot/", f"{OURS}/plugins/")
"""Where child processes may be started with `subprocess`: before the spawner, which starts all others, and in builds of images."""


def sources(folder: str) -> list[Path]:
    """The Python files under a folder of the repository."""
    return sorted((ROOT / folder).rglob("*.py"))


def own_feature(file: Path) -> tuple[str, ...]:
    """The feature that a file belongs to, as far as it is a package of several files."""
    parts = file.relative_to(ROOT / OURS).parts
    return (f"{OURS}.features.{parts[1]}",) if parts[0] == "features" and len(parts) > 2 else ()


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sources(f"{OURS}/{package}")
        for name in imports(file)
        if under(name, (OURS,)) and not under(name, ALLOWED[package] + own_feature(file))
    ]
    assert wrong == []


def test_custom_tools_use_what_a_built_in_feature_uses_and_no_more() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sources("custom_tools")
        for name in imports(file)
        if under(name, (OURS,)) and not under(name, (f"{OURS}.core",))
    ]
    assert wrong == []


@pytest.mark.parametrize("package", FOREIGN)
def test_a_package_knows_no_surface(package: str) -> None:
    folder = package if package == "custom_tools" else f"{OURS}/{package}"
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}" for file in sources(folder) for name in imports(file) if under(name, FOREIGN[package])
    ]
    assert wrong == []


def test_child_processes_are_started_by_boot_and_the_spawner_alone() -> None:
    wrong = [
        str(file.relative_to(ROOT))
        for file in sources(OURS)
        for name in imports(file)
        if under(name, ("subprocess", "multiprocessing")) and not str(file.relative_to(ROOT)).startswith(STARTERS)
    ]
    assert wrong == []
    called = [str(file.relative_to(ROOT)) for file in sources(OURS) if "create_subprocess_" in file.read_text("utf-8")]
    assert called == []


TASKS = (
    f"{OURS}/core/tasks.py",
    f"{OURS}/drivers/kernels/relay.py",
    f"{OURS}/egress/acceptor.py",
    f"{OURS}/egress/control_socket.py",
    f"{OURS}/egress/http_exchange.py",
    f"{OURS}/egress/intercepted_flow.py",
)
"""Where tasks are made: `start_task` and `Tasks`; and two programs without anything of `core`: in the box, and at its network."""


def test_background_work_has_an_owner() -> None:
    made = {
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sources(OURS)
        if str(file.relative_to(ROOT)) not in TASKS
        for node in nodes_of(file)
        if isinstance(node, ast.Attribute) and node.attr in {"create_task", "ensure_future"}
    }
    assert made == set()
