"""The container's environment, as boot wrote it down."""

import json
import os
from collections.abc import Mapping

from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.settings import Settings


def container_environ(settings: Settings) -> Mapping[str, str]:
    """Return the container's environment, with its secrets."""
    try:
        return dict(JsonFile(settings.paths.environ).read() or os.environ)
    except (OSError, json.JSONDecodeError):
        return os.environ
