"""The API's end of a file worker: one request at a time, on the event loop."""

import asyncio
import socket

from sandbox_server.drivers.files.message_frames import Assembler, BrokenFrame, WorkerFrame


class NotSent(ConnectionError):
    """The worker ended before it got the request. Nothing was done."""


class FileWorkerChannel:
    """A connection to one worker. Closing it ends the worker, whatever it is doing."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = asyncio.get_running_loop()

    async def send(self, frame: WorkerFrame) -> None:
        """Send one frame. The caller keeps its own copies of the descriptors.

        Raises NotSent if the worker has ended.
        """
        head = frame.encode()
        try:
            sent = socket.send_fds(self._sock, [head], frame.fds)
        except OSError as error:
            raise NotSent(str(error)) from error
        await self._loop.sock_sendall(self._sock, memoryview(head)[sent:])
        if frame.payload:
            await self._loop.sock_sendall(self._sock, frame.payload)

    async def receive(self) -> WorkerFrame:
        """Wait for one frame, whose descriptors then belong to the caller; raises BrokenFrame if the worker ends."""
        assembler = Assembler()
        try:
            while assembler.missing:
                try:
                    if not assembler.receive(self._sock):
                        raise BrokenFrame("the file worker went away")
                except BlockingIOError:
                    await self._readable()
            return assembler.frame()
        except BaseException:
            assembler.discard()
            raise

    def close(self) -> None:
        """End the worker."""
        self._sock.close()

    async def _readable(self) -> None:
        waiting: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(self._sock, _resolve, waiting)
        try:
            await waiting
        finally:
            self._loop.remove_reader(self._sock)


def _resolve(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
