"""A program of ours that reads what anybody may have written: it runs as the agent, with limits on time and memory.

It gets the document as its standard input and one JSON object of options as its argument, and writes one JSON object: its answer, or
`{"problem"}` with a sentence for the caller. It is run by its path, isolated, so it imports nothing of ours.
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
"""Bytes of address space that the program may use."""
MAX_ANSWER = 8 << 20
"""Bytes of JSON that are taken from it."""


async def answer(processes: Processes, program: str, options: Mapping[str, Any], document: int, *, seconds: float, advice: str = "") -> Any:
    """Run the program at a path on the document at a descriptor, for so many seconds at most.

    Raises InvalidArgument with a sentence for the caller; `advice` is what to do where the document is too much.
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
        raise InvalidArgument(f"The document takes more than {seconds:g} s to read{advice}.")
    if ended.code != 0 or out.truncated:
        raise InvalidArgument(f"The document is too large or too deep to be shown{advice}.")
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
