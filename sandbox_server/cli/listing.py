"""What `sandbox` lists: the short forms, the tags with a line each, the operations of one tag."""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_server.cli.document import DocumentedOperation
from sandbox_server.cli.short_forms import ABOUT, FORMS
from sandbox_server.cli.stop import USAGE, Stop

OWNER: Mapping[str, str] = {
    "sign-in": "Print a link that signs a browser in, once. For the container's owner.",
    "plugins": "Check what an image adds. For the container's owner.",
}
"""What `sandbox.sh` passes to another program."""


def overview(document: Mapping[str, Any]) -> str:
    """Return every word that may stand first, with what it is for."""
    tags = {tag["name"]: tag.get("description", "") for tag in document["tags"]}
    forms = {FORMS[form][1]: about for form, about in ABOUT.items()}
    width = max(map(len, [*forms, *OWNER, *tags]))
    parts = (("In short", forms), ("Operations: `sandbox TAG` lists those of one", tags), ("Owner", OWNER))
    return "\n\n".join(f"{title}\n{_lines(entries, width)}" for title, entries in parts)


def of_tag(operations: Sequence[DocumentedOperation], tag: str) -> str:
    """Return the operations of a tag. Raises Stop if there are none."""
    if not operations:
        raise Stop(USAGE, f"there is no tag {tag}; `sandbox` lists them")
    width = max(len(operation.name) for operation in operations)
    return "\n".join(f"{operation.name:{width}}  {operation.entry['summary']}" for operation in operations)


def _lines(entries: Mapping[str, str], width: int) -> str:
    room = shutil.get_terminal_size().columns
    return "\n".join(f"  {name:{width}}  {about}"[:room].rstrip() for name, about in entries.items())
