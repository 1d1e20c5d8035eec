"""Forms as operations get them, without a client."""

from collections.abc import AsyncIterator


class SentPart:
    """One file of a form, in chunks; None in place of a chunk is a client that goes away."""

    media_type = "application/octet-stream"

    def __init__(self, filename: str, *content: bytes | None, name: str = "file") -> None:
        self.name = name
        self.filename = filename
        self._content = content

    async def chunks(self) -> AsyncIterator[bytes]:
        """What arrives."""
        for chunk in self._content:
            if chunk is None:
                raise ConnectionError("the client went away")
            yield chunk


class SentForm:
    """A form whose fields arrive before its files, or after them."""

    def __init__(self, *parts: SentPart, fields_last: bool = False, **fields: str | None) -> None:
        self._parts = parts
        self._fields = fields
        self._arrived = not fields_last

    async def __aiter__(self) -> AsyncIterator[SentPart]:
        for part in self._parts:
            yield part
        self._arrived = True

    def field(self, name: str) -> str | None:
        """A field that has arrived."""
        return self._fields.get(name) if self._arrived else None
