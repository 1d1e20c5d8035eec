"""Texts of others, as every database and every terminal takes them."""


def printable(text: str, limit: int) -> str:
    """A text in which nothing moves a cursor, begins a line or is half a character, of at most `limit` characters."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text[:limit])[:limit]
