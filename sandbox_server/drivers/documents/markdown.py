"""Markdown of a document, made by a program that runs as the agent (`document_program`)."""

from dataclasses import asdict, dataclass

from sandbox_server.drivers.documents import document_program
from sandbox_server.drivers.spawn import confined_program
from sandbox_server.drivers.spawn.process import Processes

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Known:
    """The known properties of a document."""

    media_type: str | None = None
    charset: str | None = None
    name: str | None = None
    """The file's name."""
    url: str | None = None


class Conversion:
    """Makes Markdown, each time in its own process with limits on time and memory."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def markdown(self, document: int, known: Known) -> str:
        """Convert the document at a descriptor. Raises InvalidArgument with a sentence for the caller."""
        found = await confined_program.answer(
            self._processes, document_program.__file__, {"form": "markdown", **asdict(known)}, document, seconds=SECONDS
        )
        return str(found["text"])
