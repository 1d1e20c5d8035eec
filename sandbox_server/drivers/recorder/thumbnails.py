"""Thumbnails of the screen on disk; the oldest are removed."""

import re
from contextlib import suppress
from pathlib import Path

MAX_KEPT = 100
_NAME = re.compile(r"[0-9a-f]{16}-(?:before|after)")


class Thumbnails:
    """JPEG files below `folder`, each under a name of its own. For any thread."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def write(self, name: str, picture: bytes) -> None:
        """Keep a picture, in the place of the oldest where there are too many. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path(name).write_bytes(picture)
        for old in sorted(self._folder.iterdir(), key=_age)[:-MAX_KEPT]:
            old.unlink(missing_ok=True)

    def read(self, name: str) -> bytes | None:
        """A picture; None where there is none of that name."""
        with suppress(FileNotFoundError, ValueError):
            return self._path(name).read_bytes()
        return None

    def files(self) -> list[str]:
        """All of them, by path."""
        return sorted(map(str, self._folder.glob("*.jpg")))

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"no name of a picture: {name!r}")
        return self._folder / f"{name}.jpg"


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another thread removed it
        return 0.0
