"""Added operations: whether they can be loaded, and go together with those that are built in."""

from collections.abc import Iterable, Iterator

from sandbox_server import __version__
from sandbox_server.core.custom_tools import load_features
from sandbox_server.core.identity import ALL_SCOPES
from sandbox_server.core.openapi import document
from sandbox_server.core.operation import Operation, operations
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.catalog import SERVERS, read_catalog
from sandbox_server.plugins.check_results import Findings

PREFIX = "/v1/"
"""Below it the gateway leads to the API, and the operations' own scopes count."""


def check(folder: str, built_in: Iterable[Operation]) -> Findings:
    """Look at every feature in a directory."""
    found = Findings("operations")
    try:
        added = [operation for feature in load_features(folder) for operation in operations(feature)]
    except Exception as error:  # noqa: BLE001 - somebody's code may raise anything while it is imported
        found.problems.append(f"{folder}: {type(error).__name__}: {error}")
        return found
    found.added.extend(f"{operation.spec.verb} {operation.spec.path}" for operation in added)
    known = list(built_in)
    for operation in added:
        found.problems.extend(f"{operation.name}: {problem}" for problem in _problems(operation, known))
        known.append(operation)
    found.problems.extend(_uncallable(added))
    return found


def _problems(operation: Operation, known: list[Operation]) -> Iterator[str]:
    spec = operation.spec
    if not spec.path.startswith(PREFIX):
        yield f"{spec.path} must begin with {PREFIX}, or the gateway does not lead to it"
    for other in known:
        if (other.spec.verb, other.spec.path) == (spec.verb, spec.path):
            yield f"{spec.verb} {spec.path} is {other.name} already"
        if other.name == operation.name:
            yield f"the tag {operation.tag!r} has an operation of this name already"
        for name in {*_names(operation)} & {*_names(other)}:
            yield f"the tool {name} is {other.name} already"
    for name in _names(operation):
        if any(name.startswith(f"{server}_") for server in SERVERS):
            yield f"the tool {name} would count as one of the sandbox's own: begin it otherwise"


def _names(operation: Operation) -> tuple[str, ...]:
    return (operation.spec.tool, *operation.spec.aliases) if operation.spec.tool else ()


def _uncallable(added: list[Operation]) -> Iterator[str]:
    described = document(added, title="added", version=__version__)
    callable_by_agents = {tool.name for tool in read_catalog(described).listed(ToolFilter(ALL_SCOPES))}
    for operation in added:
        if operation.spec.tool and operation.spec.tool not in callable_by_agents:
            yield f"{operation.name}: no agent could call the tool {operation.spec.tool}: it takes a file, or only streams events"
