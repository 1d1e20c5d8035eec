"""What is made from the code and committed: `openapi.json`, which the command line reads, and the README's table of settings."""

import json
from dataclasses import replace
from pathlib import Path

from sandbox_server import __version__, settings
from sandbox_server.app import compose
from sandbox_server.core.openapi import document
from sandbox_server.features.description import TITLE
from sandbox_server.variables import Variable

BEGIN = "<!-- settings: made by scripts/generate -->\n"
END = "<!-- end of settings -->"


def generated(root: Path) -> dict[Path, str]:
    """Every generated file under `root` and what it should hold."""
    readme = root / "README.md"
    return {root / "sandbox_server" / "openapi.json": openapi(), readme: _with_table(readme.read_text("utf-8"))}


def openapi() -> str:
    """The OpenAPI document of the built-in operations, without those of custom tools."""
    defaults = settings.load({})
    product = compose(replace(defaults, paths=replace(defaults.paths, custom_tools="/nonexistent")))
    described = document(product.operations, title=TITLE, version=__version__)
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def refresh(root: Path, *, check: bool) -> list[str]:
    """Write the files that are out of date, or with `check` only name them."""
    stale = [(path, text) for path, text in generated(root).items() if not path.exists() or path.read_text("utf-8") != text]
    if not check:
        for path, text in stale:
            path.write_text(text, "utf-8")
    return [str(path.relative_to(root)) for path, _ in stale]


def _with_table(readme: str) -> str:
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{table()}\n{end}{after}" if begin and end else readme


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
