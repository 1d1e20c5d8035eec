"""Adds to the package what is generated from the API's description: `tandem/api` and `tandem/_sync`."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
OPENAPI = HERE.parent.parent / "sandbox_server" / "openapi.json"


class GeneratedCode(BuildHookInterface):  # type: ignore[type-arg]
    """Generates into a folder that goes when the build is over."""

    def initialize(self, version: str, build_data: "dict[str, Any]") -> None:
        """Generate."""
        self._folder = tempfile.TemporaryDirectory()
        subprocess.run([sys.executable, HERE / "generate.py", OPENAPI, self._folder.name], check=True)
        for part in ("api", "_sync"):
            build_data["force_include"][str(Path(self._folder.name, part))] = f"tandem/{part}"

    def finalize(self, version: str, build_data: "dict[str, Any]", artifact_path: str) -> None:
        """Remove the folder."""
        self._folder.cleanup()
