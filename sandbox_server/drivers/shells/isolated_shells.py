"""Isolated commands of a shell session: the shell executes a program that puts up the fence and becomes another shell."""

import json
import shlex
import sys
from dataclasses import asdict

from sandbox_server.core.errors import TooLarge, Unavailable
from sandbox_server.drivers.fence.__main__ import REFUSED
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.spawn.process import Processes, not_isolated
from sandbox_server.timeouts import scaled

MAX_WORD = 120_000
"""Bytes of one argument; the kernel takes 128 KiB."""
_PROBE_SECONDS = scaled(10.0)
_MAX_ANSWER = 4096
_MODULE = "sandbox_server.drivers.fence"


class IsolatedShells:
    """Makes the line that runs a command isolated; `private` is the directory that it may not see."""

    def __init__(self, processes: Processes, private: str) -> None:
        self._processes = processes
        self._private = private

    async def line(self, text: str, policy: IsolationPolicy, cwd: str) -> str:
        """Give what a shell in `cwd` is to evaluate in place of `text`, once the same fence has been up there.

        Raises Conflict where this host cannot enforce the policy, InvalidArgument for what does not exist, and TooLarge.
        """
        words = [self._private, json.dumps(asdict(policy))]
        if any(len(word.encode("utf-8", "surrogateescape")) > MAX_WORD for word in (*words, text)):
            raise TooLarge(f"an isolated command is at most {MAX_WORD} bytes", hint="write it to a file and run that", limit=MAX_WORD)
        await self._try(words, cwd)
        program = shlex.join([sys.executable, "-I", "-m", _MODULE])
        # The fence starts without the session's environment, in which something may be preloaded, and reads it as data.
        return f'(\\builtin exec {{f}}< <(env -0) && \\builtin exec -c {program} "$f" {shlex.join([*words, text])})'

    async def _try(self, words: list[str], cwd: str) -> None:
        argv = [sys.executable, "-I", "-m", _MODULE, "0", *words, "exit 0"]
        done = await self._processes.run(argv, cwd=cwd or None, input=b"", timeout=_PROBE_SECONDS, max_output=_MAX_ANSWER)
        if done.exit.code == REFUSED:
            refusal = json.loads(done.stdout)
            raise not_isolated(int(refusal["error"]), str(refusal["field"]), str(refusal["message"]))
        if done.exit.code is None:
            raise Unavailable("the fence could not be tried", retry_after=1.0)
