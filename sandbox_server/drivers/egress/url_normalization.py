"""URL normalization (RFC 3986, 6.2.2): a path gets one form before any rule of requests, secrets or pages sees it.

In normal form a path is percent-encoded where it has to be, and nowhere else. A path that servers read in different ways has none:
one decodes it before it looks for slashes, another one drops parameters or merges slashes.
"""

import re
from functools import lru_cache

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,=:@")
"""What stands for itself in a path, encoded or not: `pchar` (RFC 3986, 3.3) without the semicolon, which begins parameters."""
_UNRESERVED = re.compile("%(?:2[DEde]|3[0-9]|4[1-9A-Fa-f]|5[0-9AFaf]|6[1-9A-Fa-f]|7[0-9AEae])")
_SPECIAL = frozenset("*?[")
"""Characters of globs."""
_HEX = frozenset("0123456789abcdefABCDEF")
_SPACE, _DELETE, _BYTE = 0x20, 0x7F, 0x100


class TwoReadings(ValueError):
    """Servers read this in different ways; the message says why."""


@lru_cache(256)
def normal_path(path: str) -> str:
    """Return the normal form of a path without a query, whose characters are its bytes (Latin-1). Raises TwoReadings."""
    if not path.startswith("/"):
        raise TwoReadings("it has no path")
    made, content = [], bytearray()
    at = 0
    while at < len(path):
        one, at = path[at], at + 1
        byte = ord(one)
        if one == "%":
            byte, at = _encoded(path, at), at + 2
            one = chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}"
        elif one == ";":
            raise TwoReadings("its path has parameters (;)")
        elif one == "\\" or byte < _SPACE or byte == _DELETE or byte >= _BYTE:
            raise TwoReadings(f"its path has a {one!r}")
        elif one != "/" and one not in _PLAIN:
            one = f"%{byte:02X}"
        content.append(byte)
        made.append(one)
    try:
        content.decode()
    except UnicodeDecodeError:
        raise TwoReadings("its path is not UTF-8") from None
    found = "".join(made)
    _check_segments(found)
    return found


@lru_cache(256)
def normal_glob(glob: str) -> str:
    """Return a glob that matches paths in normal form, outside of `[...]`. Raises TwoReadings for one that matches none of them."""
    made = ""
    at = 0
    while at < len(glob):
        one, at = glob[at], at + 1
        if one == "[" and (end := glob.find("]", at + 1)) >= 0:
            made, at = made + glob[at - 1 : end + 1], end + 1
        elif one == "%":
            byte, at = _encoded(glob, at), at + 2
            plain = chr(byte)
            made += f"%{byte:02X}" if plain not in _PLAIN else f"[{plain}]" if plain in _SPECIAL else plain
        elif one in _SPECIAL or one in _PLAIN or one == "/":
            made += one
        else:
            made += "".join(f"%{byte:02X}" for byte in one.encode("utf-8", "surrogatepass"))
    return made


def without_needless_encoding(text: str) -> str:
    """Return a query, or another text that is no path, with nothing percent-encoded that stands for itself (RFC 3986, 2.3)."""
    return _UNRESERVED.sub(lambda found: chr(int(found[0][1:], 16)), text)


def _encoded(text: str, at: int) -> int:
    """Return the byte whose two digits stand at a place. Raises TwoReadings for none, and for one that some servers decode early."""
    digits = text[at : at + 2]
    if len(digits) != 2 or not _HEX.issuperset(digits):
        raise TwoReadings("its path has a % that encodes nothing")
    byte = int(digits, 16)
    if byte < _SPACE or byte == _DELETE or chr(byte) in "/\\%?#;":
        raise TwoReadings(f"its path has an encoded {chr(byte)!r}")
    return byte


def _check_segments(path: str) -> None:
    *segments, last = path.split("/")[1:]
    if "" in segments:
        raise TwoReadings("its path has an empty segment (//)")
    if not {".", ".."}.isdisjoint((*segments, last)):
        raise TwoReadings("its path has a dot segment (/./ or /../)")
