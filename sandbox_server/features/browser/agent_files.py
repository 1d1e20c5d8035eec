"""Documents that browser operations write to and read from the agent's files."""

from typing import Any

import orjson

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.metadata import FileStatus

MAX_DOCUMENT = 16 << 20
SECRET_MODE = 0o600
"""The mode of new files that contain cookies."""


async def save_json(files: Files, path: str, document: Any) -> FileStatus:
    """Write a document atomically, with its missing directories; raises FileError."""
    content = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    return await files.access("write").write(path, content, mode=SECRET_MODE)


async def load_json(files: Files, path: str) -> Any:
    """Read a document; raises FileError, and InvalidArgument if it is not JSON."""
    content, _ = await files.access("read").read(path, limit=MAX_DOCUMENT)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidArgument(f"{path} is not valid JSON: {error}", path=path) from None
