"""Outputs of kernels. They come from the agent, so every field is validated here."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from sandbox_server.drivers.ipc.json_lines import JsonLine

type OutputType = Literal["stream", "execute_result", "display_data", "error", "update_display_data", "clear_output"]

_STREAMS = frozenset({"stdout", "stderr"})
MAX_DEPTH = 100
"""Limit of nested objects and lists in an output. JSON encoders accept little more."""
_TYPES = frozenset({"stream", "execute_result", "display_data", "error", "update_display_data", "clear_output"})


@dataclass(frozen=True, slots=True)
class KernelOutput:
    """One output, with the field names of Jupyter's messages."""

    output_type: OutputType
    name: str | None = None
    text: str | None = None
    data: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    execution_count: int | None = None
    ename: str | None = None
    evalue: str | None = None
    traceback: list[str] | None = None
    display_id: str | None = None
    """The id by which a later `update_display_data` finds it."""
    wait: bool = False
    """Whether `clear_output` waits for the next output."""


def read(message: JsonLine) -> KernelOutput | None:
    """Parse an output from the relay; None if it is invalid."""
    kind = message.get("output_type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return None
    if kind == "stream":
        name, text = _text(message.get("name")), _text(message.get("text"))
        return KernelOutput("stream", name=name, text=text) if name in _STREAMS and text is not None else None
    lines, count = message.get("traceback"), message.get("execution_count")
    return KernelOutput(
        cast("OutputType", kind),
        name=_text(message.get("name")),
        text=_text(message.get("text")),
        data=_mapping(message.get("data")),
        metadata=_mapping(message.get("metadata")),
        execution_count=count if isinstance(count, int) else None,
        ename=_text(message.get("ename")),
        evalue=_text(message.get("evalue")),
        traceback=[str(line) for line in lines] if isinstance(lines, list) else None,
        display_id=_text((_mapping(message.get("transient")) or {}).get("display_id")),
        wait=bool(message.get("wait")),
    )


def is_nested_deeper(value: object, most: int = MAX_DEPTH) -> bool:
    """Whether objects and lists in a JSON value are nested deeper than `most`."""
    level = [value]
    for _ in range(most):
        level = [inner for one in level if isinstance(one, dict | list) for inner in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def merge(outputs: Iterable[KernelOutput]) -> list[KernelOutput]:
    """Return what a notebook would finally show: streams joined, displays updated, cleared outputs removed."""
    page = _NotebookOutputs()
    cleared = False
    for output in outputs:
        if output.output_type == "clear_output":
            cleared = output.wait
            if not output.wait:
                page = _NotebookOutputs()
            continue
        if cleared:
            page = _NotebookOutputs()
            cleared = False
        page.add(output)
    return page.shown()


def stream_text(outputs: Iterable[KernelOutput], name: str) -> str:
    """Return all text of one stream."""
    return "".join(output.text or "" for output in outputs if output.output_type == "stream" and output.name == name)


class _NotebookOutputs:
    """The final outputs, computed once at the end in linear time."""

    def __init__(self) -> None:
        self._outputs: list[KernelOutput] = []
        self._pieces: list[list[str]] = []
        self._updates: dict[str, tuple[int, KernelOutput]] = {}
        """The latest update of each display, and the number of outputs before it, to which it applies."""

    def add(self, output: KernelOutput) -> None:
        last = self._outputs[-1] if self._outputs else None
        if output.output_type == "update_display_data":
            if output.display_id is not None:
                self._updates[output.display_id] = (len(self._outputs), output)
        elif last and output.output_type == last.output_type == "stream" and output.name == last.name:
            self._pieces[-1].append(output.text or "")
        else:
            self._outputs.append(output)
            self._pieces.append([])

    def shown(self) -> list[KernelOutput]:
        return [self._current(place, output) for place, output in enumerate(self._outputs)]

    def _current(self, place: int, output: KernelOutput) -> KernelOutput:
        if self._pieces[place]:
            return replace(output, text="".join([output.text or "", *self._pieces[place]]))
        before, update = self._updates.get(output.display_id or "", (0, output))
        return replace(output, data=update.data, metadata=update.metadata) if place < before else output


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None
