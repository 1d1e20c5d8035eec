"""What a kernel puts out. It is the agent's: every field is checked before anything here believes it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from sandbox_server.drivers.lines import Line

type OutputType = Literal["stream", "execute_result", "display_data", "error", "update_display_data", "clear_output"]

_TYPES = frozenset({"stream", "execute_result", "display_data", "error", "update_display_data", "clear_output"})


@dataclass(frozen=True, slots=True)
class Output:
    """One output, by the names of Jupyter's messages."""

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
    """By which a later `update_display_data` finds it."""
    wait: bool = False
    """Whether `clear_output` clears only when the next output comes."""


def read(message: Line) -> Output | None:
    """Read an output as the relay passes it on; None where it is none."""
    kind = message.get("output_type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return None
    lines, count = message.get("traceback"), message.get("execution_count")
    return Output(
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


def merge(outputs: Iterable[Output]) -> list[Output]:
    """What a notebook would show in the end: pieces of a stream joined, displays brought up to date, and what was cleared gone."""
    shown: list[Output] = []
    cleared = False
    for output in outputs:
        if output.output_type == "clear_output":
            cleared = output.wait
            if not output.wait:
                shown.clear()
            continue
        if cleared:
            shown.clear()
            cleared = False
        _show(shown, output)
    return shown


def stream_text(outputs: Iterable[Output], name: str) -> str:
    """All that went to one stream."""
    return "".join(output.text or "" for output in outputs if output.output_type == "stream" and output.name == name)


def _show(shown: list[Output], output: Output) -> None:
    last = shown[-1] if shown else None
    if output.output_type == "update_display_data":
        shown[:] = [_updated(earlier, output) for earlier in shown]
    elif last and output.output_type == last.output_type == "stream" and output.name == last.name:
        shown[-1] = replace(last, text=(last.text or "") + (output.text or ""))
    else:
        shown.append(output)


def _updated(earlier: Output, update: Output) -> Output:
    if earlier.display_id is None or earlier.display_id != update.display_id:
        return earlier
    return replace(earlier, data=update.data, metadata=update.metadata)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None
