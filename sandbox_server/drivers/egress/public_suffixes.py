"""Public suffixes: names under which anybody may register one, such as `com`, `co.uk` and `github.io` (publicsuffix.org).

The list is the one of the system's libpsl, which curl uses for cookies.
"""

import ctypes
from functools import cache
from typing import Any

LIBRARY = "libpsl.so.5"


def is_public_suffix(name: str) -> bool:
    """Whether anybody may register below a name, or that is not known."""
    library = _library()
    if library is None or not name.isascii():
        return True
    return bool(library.psl_is_public_suffix(library.psl_builtin(), name.encode("ascii")))


@cache
def _library() -> Any:
    """Load the library with its built-in list; None if there is none."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    library.psl_builtin.restype = ctypes.c_void_p
    library.psl_is_public_suffix.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    return library if library.psl_builtin() else None
