"""One HTTP request to a process of ours on a Unix socket: so little that no client library has to be imported for it."""

import asyncio
from collections.abc import Mapping

READ_BYTES = 16 << 20


async def exchange(socket: str, verb: str, path: str, content: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Send one request and read its answer to the end: status and body. Raises OSError, and ValueError for what is no answer.

    Cancelling it hangs up, by which the other process may know.
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
        raise ValueError("the other process hung up without an answer")
    return int(words[1]), body
