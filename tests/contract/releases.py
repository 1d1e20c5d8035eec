"""Snapshots of released API documents: what clients of a release rely on, without the prose.

`python -m tests.contract.releases` in the repository writes the snapshot of the current version; run it when you release.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox_server import __version__, generate

FOLDER = Path(__file__).with_name("released")
UNUSED = frozenset({"description", "summary", "title", "example", "examples", "operationId"})
NAMED = frozenset({"properties", "schemas", "paths", "patternProperties"})
"""Mappings whose keys are names and no keywords."""


def last_release() -> dict[str, Any]:
    """The newest snapshot."""
    newest = max(FOLDER.glob("*.json"), key=lambda file: [int(part) for part in file.stem.split(".")])
    found: dict[str, Any] = json.loads(newest.read_text("utf-8"))
    return found


def reduced(document: dict[str, Any]) -> dict[str, Any]:
    """A document without prose and without schemas that nothing refers to."""
    paths, schemas = _without_prose(document["paths"], named=True), _without_prose(document["components"]["schemas"], named=True)
    used, waiting = set[str](), list(_references(paths))
    while waiting:
        name = waiting.pop()
        if name in schemas and name not in used:
            used.add(name)
            waiting += _references(schemas[name])
    return {"paths": paths, "components": {"schemas": {name: schemas[name] for name in sorted(used)}}}


def written(document: dict[str, Any]) -> str:
    """A snapshot as text, with a line for each path and schema, so that a difference can be read."""
    paths, schemas = _lines(document["paths"]), _lines(document["components"]["schemas"])
    return f'{{"paths":{{\n{paths}\n}},\n"components":{{"schemas":{{\n{schemas}\n}}}}}}\n'


def _lines(named: dict[str, Any]) -> str:
    dumped = {name: json.dumps(named[name], sort_keys=True, separators=(",", ":")) for name in sorted(named)}
    return ",\n".join(f"{json.dumps(name)}:{text}" for name, text in dumped.items())


def _without_prose(value: Any, *, named: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: _without_prose(inner, named=key in NAMED) for key, inner in value.items() if named or key not in UNUSED}
    return [_without_prose(inner) for inner in value] if isinstance(value, list) else value


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rsplit("/", 1)[1]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{__version__}.json").write_text(written(reduced(json.loads(generate.openapi()))), "utf-8")
