"""Where it is written down which skills are registered."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class SkillStore:
    """A JSON file, replaced whole on every change, readable by the control user alone."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def read(self) -> dict[str, dict[str, Any]] | None:
        """The registered skills by name; None where nothing was ever registered."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return dict(json.loads(text))

    def write(self, skills: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace all of them."""
        temporary = self._path.with_suffix(".new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(dict(skills), file)
        temporary.replace(self._path)
