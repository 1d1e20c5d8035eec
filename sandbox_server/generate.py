"""Writes the generated files that are committed: `openapi.json` for the command line, and `docs/settings.md`."""

import json
from dataclasses import replace
from pathlib import Path

from sandbox_server import __version__, settings
from sandbox_server.app import build
from sandbox_server.core.openapi import document
from sandbox_server.features.api_description import TAGS, TITLE
from sandbox_server.settings.kinds import Variable

SETTINGS = """# Settings

For operators who start a container.
After reading it you can set each environment variable, as in `docker run --env NAME=value`.

- An empty variable counts as unset.
- A variable that cannot be used stops the start and is named.
- A default that is a kind and no value (path, URL, secret ...) means that nothing is set.

`scripts/generate` makes this page.

"""


def generated(root: Path) -> dict[Path, str]:
    """Every generated file under `root` and what it should hold."""
    return {root / "sandbox_server" / "openapi.json": openapi(), root / "docs" / "settings.md": SETTINGS + table()}


def openapi() -> str:
    """The OpenAPI document of the built-in operations, without those of custom tools."""
    defaults = settings.load({})
    product = build(replace(defaults, paths=replace(defaults.paths, custom_tools="/nonexistent")))
    described = document(product.operations, title=TITLE, version=__version__, tags=TAGS)
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def refresh(root: Path, *, check: bool) -> list[str]:
    """Write the files that are out of date, or with `check` only name them."""
    stale = [(path, text) for path, text in generated(root).items() if not path.exists() or path.read_text("utf-8") != text]
    if not check:
        for path, text in stale:
            path.write_text(text, "utf-8")
    return [str(path.relative_to(root)) for path, _ in stale]


def table() -> str:
    """The Markdown table of every variable, grouped by section."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    title = ""
    for section, known in settings.variables():
        if section != title:
            lines.append(f"| **{section}** | | |")
            title = section
        lines.append(f"| `{known.name}` | {_shown(known)} | {known.doc} |")
    return "\n".join(lines) + "\n"


def _shown(known: Variable) -> str:
    if known.default in (None, "", (), frozenset()):
        return known.kind.label
    if isinstance(known.default, bool):
        return f"`{str(known.default).lower()}`"
    return f"`{known.default:g}`" if isinstance(known.default, float) else f"`{known.default}`"
