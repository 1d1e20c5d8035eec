"""What code puts out, as the code interpreter's clients read it: lines of JSON."""

import json
import time
from typing import Any

FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
}
"""Fields of a result by media type."""


def line(message: dict[str, Any]) -> bytes:
    """One line."""
    return json.dumps(message).encode() + b"\n"


def messages(output: dict[str, Any]) -> list[dict[str, Any]]:
    """What is said of one output of a kernel or of Node.js."""
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return [{"type": name, "text": output.get("text") or "", "timestamp": time.time_ns()}]
    if kind in ("execute_result", "display_data"):
        return [result(output.get("data") or {}, main=kind == "execute_result")]
    if kind == "error":
        return [failure(str(output.get("ename")), str(output.get("evalue")), "\n".join(output.get("traceback") or ()))]
    return []


def failure(name: str, value: str, traceback: str = "") -> dict[str, Any]:
    """An exception."""
    return {"type": "error", "name": name, "value": value, "traceback": traceback}


def result(data: dict[str, Any], *, main: bool) -> dict[str, Any]:
    """A value by media type. A text that is only quoted is given without its quotes."""
    said: dict[str, Any] = {"type": "result", "is_main_result": main}
    extra = {}
    for media_type, value in data.items():
        if media_type in FIELDS:
            said[FIELDS[media_type]] = value
        else:
            extra[media_type] = value
    text = said.get("text")
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        said["text"] = text[1:-1]
    return said | ({"extra": extra} if extra else {})
