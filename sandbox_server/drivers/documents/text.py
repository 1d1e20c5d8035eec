"""Documents as text, converted by a program that runs as the agent (`document_program`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_server.drivers.documents import document_program
from sandbox_server.drivers.spawn import confined_program
from sandbox_server.drivers.spawn.process import Processes

SECONDS = 30.0
ADVICE = ": ask for a smaller part of it"


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document, or the requested part of it."""

    text: str
    metadata: Mapping[str, Any]
    """The kind of the document, and its size."""


class Documents:
    """Converts documents, each in its own process with limits on time and memory."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def convert(self, fd: int, options: Mapping[str, Any]) -> DocumentText:
        """Convert the document at `fd`. `options` may hold page_range, row_range, slide_range (two numbers from 1) and sheet_name.

        Raises InvalidArgument with a sentence for the caller.
        """
        found = await confined_program.answer(
            self._processes, document_program.__file__, {"form": "text", **options}, fd, seconds=SECONDS, advice=ADVICE
        )
        return DocumentText(found["text"], found["metadata"])
