"""Features that an image's author adds: Python files in a directory that only root may write."""

import importlib.util
import inspect
import logging
import os
import stat
from pathlib import Path
from types import ModuleType

from sandbox_server.core.operation import Feature, operations

_log = logging.getLogger(__name__)


def load_features(directory: str) -> list[Feature]:
    """Make one object of every feature class in the directory's `.py` files, in the order of their names.

    A feature is a class with a `tag` and at least one operation. It is constructed without arguments. Raises for a file
    that another user could have written, because it would run with the server's rights.
    """
    features: list[Feature] = []
    for path in sorted(Path(directory).glob("*.py")) if os.path.isdir(directory) else []:
        _require_trusted(path)
        features += _features_in(_import(path))
        _log.info("loaded custom tools from %s", path)
    return features


def _require_trusted(path: Path) -> None:
    for place in (path, path.parent):
        status = place.stat()
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{place} must belong to root and be writable by root only")


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"custom_tools.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _features_in(module: ModuleType) -> list[Feature]:
    classes: list[type[Feature]] = [
        cls for _, cls in inspect.getmembers(module, inspect.isclass) if cls.__module__ == module.__name__ and hasattr(cls, "tag")
    ]
    return [feature for feature in (cls() for cls in classes) if any(operations(feature))]
