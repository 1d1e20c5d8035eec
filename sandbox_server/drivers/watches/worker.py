"""The watching mode of the file worker: any number of watches in one process, which reports their events to the API."""

import os
import select
import socket
from contextlib import suppress
from typing import Any

from sandbox_server.drivers.files import message_frames
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.name_encoding import from_wire
from sandbox_server.drivers.files.worker_errors import FileRefused
from sandbox_server.drivers.watches.change_events import CoalescingWindow
from sandbox_server.drivers.watches.tree_watch import PathWatch, TreeWatch

type Watch = TreeWatch | PathWatch


def serve(sock: socket.socket) -> None:
    """Serve watches until the API closes the socket.

    Takes `{"add": id, ...}` and `{"remove": id}`; sends `{"added": id}` or `{"failed": id, "errno"}`, and `{"of": id,
    "changes": [...]}`.
    """
    with suppress(ConnectionError):  # it closed while a report was sent
        WatchWorker(sock).run()


class WatchWorker:
    """The loop of a watching worker."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._watches: dict[str, Watch] = {}
        self._windows: dict[str, CoalescingWindow] = {}
        self._by_fd: dict[int, str] = {}
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def run(self) -> None:
        """Run until the API closes the socket."""
        while True:
            for fd, _ in self._poll.poll(self._poll_timeout()):
                if fd != self._sock.fileno():
                    self._watches[self._by_fd[fd]].read()
                    continue
                request = message_frames.receive(self._sock)
                if request is None:
                    return
                self._obey(request.header)
            for name, window in list(self._windows.items()):
                if window.wait == 0:
                    self._tell(name)

    def _poll_timeout(self) -> float | None:
        waits = [wait for window in self._windows.values() if (wait := window.wait) is not None]
        return min(waits) * 1000 if waits else None

    def _obey(self, header: dict[str, Any]) -> None:
        if "remove" in header:
            self._remove(header["remove"])
            return
        try:
            self._add(header)
        except OSError as error:
            self._send({"failed": header["add"], "errno": error.errno})
        except FileRefused as refusal:
            self._send({"failed": header["add"], "refused": refusal.kind, "message": refusal.message})
        except ValueError as error:
            self._send({"failed": header["add"], "refused": "invalid_path", "message": str(error)})
        else:
            self._send({"added": header["add"]})

    def _add(self, header: dict[str, Any]) -> None:
        name, window = header["add"], CoalescingWindow(header["debounce"])
        path = os.path.normpath(from_wire(header["path"]))
        watch: Watch
        if header["tree"]:
            watch = TreeWatch(path, window, recursive=header["recursive"], exclude=header["exclude"], include=header["include"])
        else:
            watch = PathWatch(path, window)
        try:
            watch.open()
        except OSError:
            watch.inotify.close()
            raise
        self._remove(name)
        self._watches[name], self._windows[name] = watch, window
        self._by_fd[watch.inotify.fileno()] = name
        self._poll.register(watch.inotify, select.POLLIN)

    def _remove(self, name: str) -> None:
        watch = self._watches.pop(name, None)
        if watch is not None:
            del self._windows[name], self._by_fd[watch.inotify.fileno()]
            self._poll.unregister(watch.inotify)
            watch.inotify.close()

    def _tell(self, name: str) -> None:
        watch = self._watches[name]
        self._send({"of": name, "changes": [change.describe(watch.root) for change in watch.take()]})

    def _send(self, header: dict[str, Any]) -> None:
        message_frames.send(self._sock, WorkerFrame(header))
