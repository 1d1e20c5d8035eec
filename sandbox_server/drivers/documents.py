"""Documents as text, converted by a program that runs as the agent (`document_text`)."""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers import document_text
from sandbox_server.drivers.pipes import Capture, PipeReader
from sandbox_server.drivers.process import Exit, Process, Processes, put_down

SECONDS = 30.0
MEMORY = 2 << 30
"""Bytes of address space that the program may use."""
MAX_TEXT = 8 << 20
"""Bytes of JSON that are taken from it."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document, or the part of it that was asked for."""

    text: str
    metadata: Mapping[str, Any]
    """What it is and how much of it there is."""


class Documents:
    """Converts documents, each in a process of its own with limits on time and memory."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def convert(self, fd: int, options: Mapping[str, Any]) -> DocumentText:
        """Convert the document at `fd`. `options` may hold page_range, row_range, slide_range (two numbers from 1) and sheet_name.

        Raises InvalidArgument with a sentence for the caller.
        """
        out, err = Capture(MAX_TEXT), Capture(4096)
        with PipeReader(out.take) as stdout, PipeReader(err.take) as stderr:
            process = await self._processes.start(
                [sys.executable, "-I", document_text.__file__, json.dumps(dict(options))],
                cwd="/",
                stdin=fd,
                stdout=stdout.theirs,
                stderr=stderr.theirs,
                limits={"as": MEMORY, "core": 0},
            )
            stdout.release()
            stderr.release()
            ended = await _wait(process)
            await asyncio.gather(stdout.settle(), stderr.settle())
        if ended is None:
            raise InvalidArgument(f"The document takes more than {SECONDS:g} s to read: ask for a smaller part of it.")
        if ended.code != 0 or out.truncated:
            raise InvalidArgument("The document is too large or too deep to be shown: ask for a smaller part of it.")
        answer = json.loads(out.bytes())
        if "problem" in answer:
            raise InvalidArgument(answer["problem"])
        return DocumentText(answer["text"], answer["metadata"])


async def _wait(process: Process) -> Exit | None:
    try:
        async with asyncio.timeout(SECONDS):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        await put_down(process)
