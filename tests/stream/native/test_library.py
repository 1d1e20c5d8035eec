"""The binding of the C kernels: every function that is declared exists, and structures have the layout of the wire."""

import ctypes
import re
from pathlib import Path

from sandbox_server.stream import native
from sandbox_server.stream.native.library import CACHED_TILES, TILE, CachedTile, MovedRect, library

SOURCES = Path(native.__file__).parent


def defined(name: str) -> int:
    """The value of a macro in the C sources."""
    found = {int(value) for file in SOURCES.glob("*.[ch]") for value in re.findall(rf"#define {name} (\d+)\b", file.read_text("ascii"))}
    [value] = found
    return value


def test_every_declared_function_is_in_the_library() -> None:
    declared = re.findall(r"found\.(\w+)\.(?:argtypes|restype)", (SOURCES / "library.py").read_text("utf-8"))
    assert len(set(declared)) > 15
    for name in declared:
        assert getattr(library(), name), name


def test_structures_have_the_size_that_they_have_on_the_wire() -> None:
    assert (ctypes.sizeof(MovedRect), ctypes.sizeof(CachedTile)) == (12, 6)


def test_python_and_c_agree_on_tiles_and_the_cache() -> None:
    assert (defined("TILE"), defined("CACHED_TILES")) == (TILE, CACHED_TILES)
