"""The file worker: serves file operations one at a time, as the user that it runs as.

The spawner forks it, without exec, after becoming that user, so it has only the user's rights. It uses only the
standard library, because it shares the spawner's memory. Requests and answers are frames (`message_frames`); `{"op":
name, ...}` selects a function of `OPERATIONS`. An answer is the function's result, or `{"errno", "path"}` for a failure
of the kernel, or `{"refused": kind, "message", "path"}`.
"""

import errno
import socket
from collections.abc import Callable
from typing import Any

from sandbox_server.drivers.files import archive, content, message_frames, staged_writes, tree_changes, tree_walk
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.name_encoding import from_wire, to_wire
from sandbox_server.drivers.files.worker_errors import FileRefused
from sandbox_server.drivers.watches import worker

type Operation = Callable[[WorkerFrame], WorkerFrame]

OPERATIONS: dict[str, Operation] = {
    **content.OPERATIONS,
    **staged_writes.OPERATIONS,
    **tree_walk.OPERATIONS,
    **tree_changes.OPERATIONS,
    **archive.OPERATIONS,
}
_PATHS = ("path", "destination")


def serve(sock: socket.socket) -> None:
    """Answer requests until the other side closes.

    A watch request turns the worker into a watcher for the rest of its life.
    """
    while (request := message_frames.receive(sock)) is not None:
        if request.header.get("op") == "watch":
            worker.serve(sock)
            return
        answer = _answer(request)
        try:
            message_frames.send(sock, answer)
        except ConnectionError:  # it closed without waiting for the answer
            return
        finally:
            request.close()
            answer.close()


def _answer(request: WorkerFrame) -> WorkerFrame:
    try:
        _read_names(request.header)
    except ValueError as error:
        return WorkerFrame({"refused": "invalid_path", "message": str(error), "path": _path(request.header)})
    try:
        return OPERATIONS[request.header["op"]](request)
    except FileRefused as refusal:
        return WorkerFrame({"refused": refusal.kind, "message": refusal.message, "path": to_wire(refusal.path or _path(request.header))})
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else _path(request.header)
        return WorkerFrame({"errno": error.errno or errno.EIO, "path": to_wire(name)})
    except (MemoryError, RecursionError) as error:
        number = errno.ENOMEM if isinstance(error, MemoryError) else errno.ENAMETOOLONG
        return WorkerFrame({"errno": number, "path": to_wire(_path(request.header))})


def _read_names(header: dict[str, Any]) -> None:
    """Decode the names in a request for the kernel."""
    for key in _PATHS:
        if key in header:
            header[key] = from_wire(header[key])
    if "paths" in header:
        header["paths"] = [from_wire(path) for path in header["paths"]]


def _path(header: dict[str, Any]) -> str:
    return str(header.get("path") or header.get("destination") or "/")
