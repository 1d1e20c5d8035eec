"""A context of the code interpreter: a session of the sandbox, whose id says its language and directory."""

import base64
import binascii
import re
import secrets
from dataclasses import dataclass

from tandem_fleet.e2b.connect_protocol import RPCError

LANGUAGES = {"python": "python", "javascript": "javascript", "js": "javascript", "typescript": "typescript", "ts": "typescript"}
DEFAULT = "default"
MAX_DIRECTORY = 60
"""Characters of a directory: an id holds it."""
_ID = re.compile(r"e2b-(python|javascript|typescript)-(default|[0-9a-f]{16})-([A-Za-z0-9_-]{1,80})")


def language_of(name: str | None) -> str:
    """A language by any of its names; without one Python. Raises `RPCError`."""
    language = LANGUAGES.get((name or "python").strip().lower())
    if language is None:
        raise RPCError("invalid_argument", f"there is no {name!r:.40}; there are python, javascript and typescript")
    return language


@dataclass(frozen=True)
class CodeContext:
    """A context."""

    language: str
    directory: str
    number: str = DEFAULT

    @classmethod
    def new(cls, language: str, directory: str) -> "CodeContext":
        """Another context. Raises `RPCError` for a directory that is too long."""
        if len(directory.encode("utf-8", "surrogatepass")) > MAX_DIRECTORY:
            raise RPCError("invalid_argument", f"the directory of a context has at most {MAX_DIRECTORY} bytes")
        return cls(language, directory, secrets.token_hex(8))

    @classmethod
    def parse(cls, text: str) -> "CodeContext":
        """The context of an id. Raises `RPCError` for a text that is none."""
        found = _ID.fullmatch(text)
        try:
            if found:
                directory = base64.urlsafe_b64decode(found[3] + "=" * (-len(found[3]) % 4)).decode()
                return cls(found[1], directory, found[2])
        except (binascii.Error, ValueError):
            pass
        raise RPCError("not_found", f"Context {text[:80]} not found")

    @property
    def id(self) -> str:
        """The name of its session."""
        directory = base64.urlsafe_b64encode(self.directory.encode()).rstrip(b"=").decode()
        return f"e2b-{self.language}-{self.number}-{directory}"

    @property
    def is_python(self) -> bool:
        """Whether it is a kernel, and not a session of Node.js."""
        return self.language == "python"

    @property
    def content(self) -> dict[str, str]:
        """As it is sent."""
        return {"id": self.id, "language": self.language, "cwd": self.directory}
