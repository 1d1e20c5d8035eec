"""One HTTP request over a Unix socket, without importing a client library."""

import asyncio
from collections.abc import Mapping

READ_BYTES = 16 << 20


async def exchange(socket: str, verb: str, path: str, content: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Send one request and return the status and body of the answer. Raises OSError, and ValueError for a malformed answer.

    Cancelling closes the connection, which the other process may notice.
    """
    reader, writer = await asyncio.open_unix_connection(socket, limit=READ_BYTES)
    try:
        given = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(content)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        writer.write(f"{verb} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + content)
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    finally:
        writer.close()
    words = head.split(b" ", 2)
    if len(words) < 2:
        raise ValueError("the other process closed the connection without an answer")
    return int(words[1]), body
