"""Runs a program of the server on untrusted input: as the agent, with limits on time and memory.

The document is its standard input, and a JSON object of options is its argument. It writes one JSON object: its answer,
or `{"problem"}` with a sentence for the caller. It is run by path in isolated mode, so it imports nothing of Tandem.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader
from sandbox_server.drivers.spawn.process import Exit, Process, Processes, put_down

MEMORY = 2 << 30
"""Limit in bytes of the program's address space."""
MAX_ANSWER = 8 << 20
"""Limit in bytes of the program's JSON answer."""


async def answer(processes: Processes, program: str, options: Mapping[str, Any], document: int, *, seconds: float, advice: str = "") -> Any:
    """Run the program at a path on a document, given as a descriptor, for at most `seconds`.

    Raises InvalidArgument with a sentence for the caller; `advice` says what to do if the document is too large.
    """
    out, err = Capture(MAX_ANSWER), Capture(4096)
    with PipeReader(out.take) as stdout, PipeReader(err.take) as stderr:
        process = await processes.start(
            [sys.executable, "-I", program, json.dumps(dict(options))],
            cwd="/",
            stdin=document,
            stdout=stdout.theirs,
            stderr=stderr.theirs,
            limits={"as": MEMORY, "core": 0},
        )
        stdout.release()
        stderr.release()
        ended = await _wait(process, seconds)
        await asyncio.gather(stdout.settle(), stderr.settle())
    if ended is None:
        raise InvalidArgument(f"Reading the document takes more than {seconds:g} s{advice}.")
    if ended.code != 0 or out.truncated:
        raise InvalidArgument(f"The document is too large or too deeply nested to convert{advice}.")
    found = json.loads(out.bytes())
    if "problem" in found:
        raise InvalidArgument(found["problem"])
    return found


async def _wait(process: Process, seconds: float) -> Exit | None:
    try:
        async with asyncio.timeout(seconds):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        await put_down(process)
