"""Which parts of an answer are recorded: exit code and status, the end of a command's output, and what became of a checkpoint.

Of any other answer nothing is recorded. Output is redacted more strictly than a request: see `Redaction.output`.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pydantic import BaseModel

from sandbox_server.core.operation import Operation
from sandbox_server.core.results import Reply
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.recorded_fields import kind_of

MAX_OUTPUT = 1000
"""Characters of a command's output that are recorded: its end."""
MAX_ERROR = 400
"""Characters of the sentence that says why a call failed."""
MAX_WORD = 40
MAX_PIECES = 50
"""Outputs of one execution that are looked at, the last ones."""
_PLAIN = ("exit_code", "status", "signal")


def recorded_result_of(called: Operation, result: object, typed: str, redaction: Redaction, *, output: bool) -> dict[str, Any]:
    """The recorded part of an answer; `typed` is the command, whose secrets its output may repeat. Without `output` no text is in it."""
    data = result.data if isinstance(result, Reply) else result
    kind = kind_of(called)
    if kind == "checkpoint":
        return _checkpoint(_members(data), redaction)
    if kind != "command":
        return {}
    return ending_of(_members(data)) | ({"output": text} if output and (text := _output(data, typed, redaction)) else {})


def ending_of(members: Mapping[str, object]) -> dict[str, Any]:
    """How a command ended, or that it runs."""
    found = {name: members.get(name) for name in _PLAIN}
    return {
        name: value if isinstance(value, int) else str(value)[:MAX_WORD]
        for name, value in found.items()
        if isinstance(value, int | str) and value != ""
    }


def texts_of(data: object) -> Iterator[str]:
    """What a command wrote, in order, as far as it is text."""
    members = _members(data)
    pieces = members.get("outputs")
    if isinstance(pieces, list) and pieces:
        for piece in islice(pieces, max(0, len(pieces) - MAX_PIECES), None):
            yield from piece_of(_members(piece))
        return
    yield from (text for name in ("output", "stdout", "stderr") if isinstance(text := members.get(name), str) and text)


def piece_of(members: Mapping[str, object]) -> Iterator[str]:
    """The text of one output of an execution: what it wrote, its value, or its exception."""
    if isinstance(text := members.get("text"), str):
        yield text
    shown = members.get("data")
    if isinstance(shown, dict) and isinstance(shown.get("text/plain"), str):
        yield str(shown["text/plain"])
    if members.get("ename"):
        yield f"{members['ename']}: {members.get('evalue') or ''}"


def _output(data: object, typed: str, redaction: Redaction) -> str:
    return redaction.output("\n".join(text.rstrip("\n") for text in texts_of(data)), typed, MAX_OUTPUT)


def _checkpoint(members: Mapping[str, object], redaction: Redaction) -> dict[str, Any]:
    """Which checkpoint was made, where the box stands, what was kept before, and how many programs were stopped."""
    found: dict[str, Any] = {}
    for name in ("checkpoint", "kept"):
        made = _members(members.get(name))
        if isinstance(made.get("id"), str):
            found[name] = {"id": str(made["id"])[:MAX_WORD], "label": redaction.text(str(made.get("label") or ""))}
    if isinstance(head := members.get("head"), str):
        found["head"] = head[:MAX_WORD]
    if isinstance(stopped := members.get("stopped"), list):
        found["stopped"] = len(stopped)
    return found


def _members(value: object) -> Mapping[str, object]:
    """The fields of a model or a mapping, without copying what they hold; nothing of anything else."""
    if isinstance(value, BaseModel):
        return dict(value)
    return value if isinstance(value, Mapping) else {}
