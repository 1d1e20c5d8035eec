"""The process that touches profiles: the desktop's user, beside Chromium, whose files nobody else can open.

It reads one request as JSON on descriptor 3 and writes one reply on 4. Standard input and output are files that come and go.
"""

import errno
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from sandbox_server.drivers.profiles.condition import require_not_newer, require_usable, version_of
from sandbox_server.drivers.profiles.names import DEFAULT
from sandbox_server.drivers.profiles.places import ProfilePlaces
from sandbox_server.drivers.profiles.problem import ProfileProblem
from sandbox_server.drivers.profiles.tree import files, pieces

REQUEST, REPLY = 3, 4
MAX_REQUEST = 16 << 10

type Asked = Mapping[str, Any]


class ProfileWorker:
    """Does what is asked; each method is one request. They raise ProfileProblem and OSError, and change nothing then."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._places = ProfilePlaces(asked["root"], asked["default"], asked["max_bytes"])

    def list(self) -> dict[str, Any]:
        """Describe every profile, `default` first."""
        installed = self._asked["installed"]
        return {"profiles": [self._described(name, installed) for name in (DEFAULT, *self._places.names())]}

    def _described(self, name: str, installed: str) -> dict[str, Any]:
        told: dict[str, Any] = {"name": name, "created": None, "chromium": None, "bytes": 0, "held": False, "problem": None}
        try:
            told["created"] = None if name == DEFAULT else self._places.record(name)["created"]
            told["held"] = self._places.is_held(name)
            with self._places.opened(name) as profile:
                told["chromium"] = version_of(profile)
                told["bytes"] = sum(file.size for file in files(profile))
                require_usable(profile, installed)
        except FileNotFoundError:  # Chromium removes its temporary files meanwhile
            pass
        except ProfileProblem as problem:
            told["problem"] = None if problem.kind == "not_found" else problem.message
        return told

    def create(self) -> dict[str, Any]:
        """Make an empty profile."""
        with self._places.made(self._asked["name"]):
            return {}

    def check(self) -> dict[str, Any]:
        """Say whether Chromium may start on a profile; with `make`, one that is missing is made."""
        name = self._asked["name"]
        if self._asked["make"] and name not in (DEFAULT, *self._places.names()):
            self.create()
        if name != DEFAULT:
            with self._places.held(name) as profile:
                self._places.record(name)
                require_usable(profile, self._asked["installed"])
        return {}

    def duplicate(self) -> dict[str, Any]:
        """Copy a profile that nobody uses."""
        source = self._asked["name"]
        with self._places.held(source) as profile:
            require_usable(profile, self._asked["installed"])
            with self._places.made(self._asked["to"]) as tree:
                for file in files(profile):
                    tree.write(file.path, pieces(file))
        return {}

    def delete(self) -> dict[str, Any]:
        """Remove a profile that nobody uses."""
        self._places.remove(self._asked["name"])
        return {}

    def pack(self) -> dict[str, Any]:
        """Write a profile that nobody uses to standard output, encrypted."""
        from sandbox_server.drivers.profiles.archive import pack
        from sandbox_server.drivers.profiles.sealed_stream import SealingWriter

        with self._places.held(self._asked["name"]) as profile, os.fdopen(os.dup(1), "wb") as file:
            require_usable(profile, self._asked["installed"])
            sealed = SealingWriter(file, self._asked["passphrase"])
            count = pack(profile, sealed, version_of(profile))
            sealed.close()
        return {"files": count}

    def unpack(self) -> dict[str, Any]:
        """Make a profile of what `pack` wrote, from standard input."""
        from sandbox_server.drivers.profiles.archive import ArchiveReader
        from sandbox_server.drivers.profiles.sealed_stream import unsealed

        installed = self._asked["installed"]
        with _given() as file, self._places.made(self._asked["name"]) as tree:
            reader = ArchiveReader(unsealed(file, self._asked["passphrase"]))
            require_not_newer(reader.version, installed)
            count = reader.unpack(tree)
            with tree.opened() as profile:
                require_usable(profile, installed)
        return {"files": count}

    def cookies(self) -> dict[str, Any]:
        """Read the cookies of a browser's database on standard input, and write them to standard output as JSON."""
        from sandbox_server.drivers.profiles.logins import MAX_DATABASE, read_cookies

        with _given() as file:
            content = file.read(MAX_DATABASE + 1)
        if len(content) > MAX_DATABASE:
            raise ProfileProblem("too_large", f"the database has more than {MAX_DATABASE} bytes", "limit")
        found, left = read_cookies(content)
        with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
            json.dump(found, out)
        return {"left": left}


def _given() -> BinaryIO:
    """Open standard input at its start: whoever wrote it may have left it elsewhere."""
    os.lseek(0, 0, os.SEEK_SET)
    return os.fdopen(os.dup(0), "rb")


REQUESTS: Mapping[str, Callable[[ProfileWorker], dict[str, Any]]] = {
    "list": ProfileWorker.list,
    "create": ProfileWorker.create,
    "check": ProfileWorker.check,
    "duplicate": ProfileWorker.duplicate,
    "delete": ProfileWorker.delete,
    "pack": ProfileWorker.pack,
    "unpack": ProfileWorker.unpack,
    "cookies": ProfileWorker.cookies,
}
_FULL = (errno.ENOSPC, errno.EDQUOT)


def answer(asked: Asked) -> dict[str, Any]:
    """Do what is asked, and return the reply: `done`, or the `problem`."""
    try:
        return {"done": REQUESTS[asked["do"]](ProfileWorker(asked))}
    except ProfileProblem as problem:
        return {"problem": {"kind": problem.kind, "message": problem.message, "reason": problem.reason}}
    except OSError as error:
        if error.errno in _FULL:
            return {"problem": {"kind": "resource_exhausted", "message": "there is no room left for the profile", "reason": "full"}}
        return {"problem": {"kind": "conflict", "message": f"the profile cannot be used: {error.strerror}", "reason": "damaged"}}


def main() -> None:
    """Serve one request."""
    os.umask(0o077)
    with os.fdopen(REQUEST, "rb") as requests:
        asked = json.loads(requests.read(MAX_REQUEST))
    with os.fdopen(REPLY, "wb") as replies:
        replies.write(json.dumps(answer(asked)).encode())


if __name__ == "__main__":
    main()
