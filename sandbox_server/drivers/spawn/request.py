"""What a request to the spawner asks for: who is to run what, with which descriptors, environment and limits."""

import errno
import os
from collections.abc import Mapping

from sandbox_server.drivers.fence import policy
from sandbox_server.drivers.fence.fence import Fence
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError, Message
from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.child_setup import Account, Program

_STREAMS = ("stdin", "stdout", "stderr")
_PIPE = ("reads", "writes")
"""Names of descriptors 3 and 4, which Chromium's DevTools pipe uses."""


class SpawnRequests:
    """Reads requests. `accounts` are by the names that a request may give; `limits` hold for every program but the desktop's.

    No isolated process may see the directory `private`.
    """

    def __init__(self, accounts: Mapping[str, Account], environment: Mapping[str, str], limits: Mapping[str, int], private: str) -> None:
        self._accounts = accounts
        self._environment = environment
        self._limits = limits
        self._private = private
        self._null = os.open(os.devnull, os.O_RDWR)

    def account(self, name: str) -> Account:
        """Whom a name means; raises PermissionError."""
        try:
            return self._accounts[name]
        except KeyError:
            raise PermissionError(errno.EPERM, f"user {name!r} is not allowed here") from None

    def program(self, request: Message, account: Account, fds: list[int]) -> Program:
        """The program that is asked for; raises KeyError, TypeError or ValueError for what is no request."""
        argv, extra, limits = request["argv"], request.get("env", {}), request.get("limits", {})
        if not isinstance(argv, list) or not argv or not limits.keys() <= child_setup.LIMITS.keys():
            raise MalformedMessageError("argv must be a list of strings, and limits must have known names")
        streams = dict(zip(request.get("fds", ()), fds, strict=True))
        standard = [streams.get(name, self._null) for name in _STREAMS]
        start_from = child_setup.own_environment if account is self._accounts["agent"] else child_setup.closed_environment
        cwd, base = request.get("cwd"), start_from(self._environment, account)
        fence = self._fence(request, account, cwd or base.get("WORKSPACE") or account.home)
        environment = {**(fence.environment(base) if fence else base), **extra}
        desktop = request.get("user") == "desktop"
        return Program(
            argv=argv,
            cwd=cwd,
            environment={name: value for name, value in environment.items() if value is not None},
            fds=(*standard, *(streams[name] for name in _PIPE if name in streams)),
            limits={**({} if desktop else self._limits), **{name: int(value) for name, value in limits.items()}},
            fence=fence,
            oom_score=min(1000, max(0, int(request.get("oom_score", child_setup.OOM_SCORE)))),
            nice=0 if desktop else child_setup.NICE,
        )

    def _fence(self, request: Message, account: Account, cwd: str) -> Fence | None:
        asked = request.get("isolation")
        if asked is None:
            return None
        if account is not self._accounts["agent"]:
            raise MalformedMessageError("only processes of the agent can be isolated")
        return Fence(policy.decode(asked), cwd=cwd, home=account.home, private=self._private)
