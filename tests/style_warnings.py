"""What the gate warns of, and lands all the same: how pages read, what comments name, and files that grow long.

`python -m tests.style_warnings` prints a line for each.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.prose import pages, wrong_in_page
from tests.references import Repository, wrong_in
from tests.sources import longer_than

LONG = 400
"""Lines of a file, beyond which it is time to split it."""


def warnings(root: Path) -> Iterator[str]:
    """Each warning of a repository, with its file and line."""
    for page in pages(root):
        yield from (f"{page.relative_to(root)}:{line}: {wrong}" for line, wrong in wrong_in_page(page))
    repository = Repository(root)
    for text in repository.texts:
        if not text.is_page:
            yield from (f"{text.path}:{_line(root / text.path, name)}: there is no {name}" for name in wrong_in(text, repository))
    yield from (f"{name}:{LONG + 1}: a file of {count} lines; split it at {LONG}" for name, count in longer_than(LONG, root).items())


def _line(file: Path, name: str) -> int:
    """Where a file says a name, as far as it stands in one line."""
    said = name.partition(",")[0].lower()
    lines = file.read_text("utf-8", "replace").lower().splitlines()
    return next((number for number, line in enumerate(lines, 1) if said in line), 1)


def main(root: Path) -> None:
    """Print the warnings."""
    sys.stderr.writelines(f"check: warning: {warning}\n" for warning in warnings(root))


if __name__ == "__main__":
    main(Path(__file__).parent.parent)
