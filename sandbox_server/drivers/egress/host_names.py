"""The normal form of host names: lower case, ASCII, without a dot at the end. A host is such a name, or an address."""

from sandbox_server.drivers.egress.protected_addresses import Address, parse_address

MAX_NAME = 253
MAX_LABEL = 63
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_DIGITS = frozenset("0123456789")


def normal_form(text: str) -> str:
    """Return the normal form of a host name; raises ValueError for what is none.

    A name that ends in a number is refused, because resolvers take it for an IPv4 address: `127.1`, `2130706433`, `0x7f.1`.
    """
    name = (text if text.isascii() else _encode(text)).lower().removesuffix(".")
    if not name or len(name) > MAX_NAME:
        raise ValueError(f"a host name has 1 to {MAX_NAME} characters")
    labels = name.split(".")
    if not all(map(_is_label, labels)):
        raise ValueError("a host name consists of letters, digits, hyphens and underscores, in labels of 1 to 63 characters")
    if _is_number(labels[-1]):
        raise ValueError("a host name does not end in a number")
    return name


def parse_host(text: str) -> Address | str:
    """Return an address, or a name in normal form; raises ValueError. Only an IPv6 address may be in brackets (RFC 3986, section 3.2.2)."""
    bracketed = text.startswith("[") and text.endswith("]")
    try:
        return parse_address(text[1:-1] if bracketed and ":" in text else text)
    except ValueError:
        return normal_form(text)


def parents(name: str) -> list[str]:
    """Return the names above a name, the nearest first: `a.b.c` is below `b.c` and `c`."""
    labels = name.split(".")
    return [".".join(labels[first:]) for first in range(1, len(labels))]


def _encode(text: str) -> str:
    """Encode an internationalised name (UTS 46). It is cut first, because the encoder's time grows faster than the text."""
    if len(text) > MAX_NAME:
        raise ValueError(f"a host name has 1 to {MAX_NAME} characters")
    import idna  # 15 ms and its tables, which names in ASCII do not need

    try:
        return idna.encode(text, uts46=True).decode("ascii")
    except idna.IDNAError as error:
        raise ValueError(f"not an internationalised host name: {error}") from None


def _is_label(label: str) -> bool:
    return 0 < len(label) <= MAX_LABEL and _ALLOWED.issuperset(label) and label[0] != "-" and label[-1] != "-"


def _is_number(label: str) -> bool:
    if label.startswith("0x"):
        return all(one in "0123456789abcdef" for one in label[2:])
    return _DIGITS.issuperset(label)
