"""`sandbox plugins check`: every check, and what a person reads of them."""

import json
import sys
from dataclasses import asdict

from sandbox_server.app import build
from sandbox_server.plugins import mcp_server_checks, operation_checks, route_checks, service_checks
from sandbox_server.plugins.check_results import Findings
from sandbox_server.settings import Paths, Settings


def findings(paths: Paths) -> list[Findings]:
    """Return what was added to this image, by kind."""
    own = build(Settings(paths=Paths(custom_tools="/nowhere")))
    return [
        operation_checks.check(paths.custom_tools, own.operations),
        service_checks.check([f"{folder}/supervisord" for folder in paths.added], f"{paths.code}/supervisord/components"),
        route_checks.check(paths),
        mcp_server_checks.check(paths.mcp_servers),
    ]


def report(found: list[Findings], *, as_json: bool) -> str:
    """In words, or as JSON."""
    if as_json:
        return json.dumps([asdict(each) for each in found])
    lines = []
    for each in found:
        lines.append(f"{each.kind}: {', '.join(each.added) or 'none'}")
        lines += [f"  wrong: {problem}" for problem in each.problems]
    return "\n".join(lines)


def run(paths: Paths, *, as_json: bool) -> None:
    """Write the report; exits 1 where anything is wrong."""
    found = findings(paths)
    sys.stdout.write(f"{report(found, as_json=as_json)}\n")
    if any(each.problems for each in found):
        raise SystemExit(1)
