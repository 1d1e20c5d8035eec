"""Which fields of a request are written down, and how: a field that is not named here never is."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

from pydantic import BaseModel, RootModel

from sandbox_server.core.operation import Operation
from sandbox_server.drivers.recorder.redaction import Redaction

type Way = Literal["plain", "text", "url", "count"]
"""As it is, where it is a number, a truth or a short word; without what looks like a secret; an address; how long it is."""

MAX_WORD = 200
MAX_LISTED = 20


def _named(way: Way, names: str) -> dict[str, Way]:
    return dict.fromkeys(names.split(), way)


WAYS: dict[str, Way] = {
    **_named("plain", "action action_type amount append async_mode button checkpoint_id click_count command_id direction event exist_ok"),
    **_named("plain", "format frame full_page height id index keep kind kernel_name language mode num_clicks on_timeout outcome overwrite"),
    **_named(
        "plain", "parents recursive ref resolution run_in_background scope scopes server_name session_id signal since subject sudo tab"
    ),
    **_named("plain", "timeout to tool_name until wait width x x_offset y y_offset dx dy dialog"),
    **_named("plain", "access actor fresh key_id port share_id ttl uses"),
    **_named("plain", "audience resource task tenant"),
    **_named(
        "text", "command cmd code path file destination target save_path exec_dir cwd label reason name selector pattern glob paths query"
    ),
    **_named("url", "url uri origin url_pattern source"),
    **_named(
        "count", "text input content file_text old_str new_str value arguments stdin items expression script key keys note instructions"
    ),
    **_named("count", "files cookies labels"),
}
_COMMANDS = frozenset({"shell", "bash", "code", "jupyter", "nodejs"})
_FILES = frozenset({"file", "file-watch", "skills"})
_STATES = frozenset({"checkpoints", "suspension", "box"})
_ACCESS = frozenset({"auth", "identity", "ports"})
"""What lets somebody in, here or elsewhere: links, tickets, sessions, tokens."""


def kind_of(called: Operation) -> str:
    """What sort of entry a call makes."""
    if called.spec.socket:  # it is open for as long as a page is: nobody acts by that
        return "call"
    if called.spec.read_only:
        return "read"
    if called.tag in _COMMANDS:
        return "command"
    if called.tag in _FILES:
        return "file"
    if called.tag in _STATES:
        return "checkpoint"
    if called.tag in _ACCESS:
        return "access"
    return "input" if called.spec.acts in (("gui",), ("cdp",)) else "call"


def recorded_fields_of(request: BaseModel | None, redaction: Redaction) -> dict[str, Any]:
    """What is written down of a request."""
    if request is None:
        return {}
    if isinstance(request, RootModel):
        return recorded_fields_of(request.root, redaction) if isinstance(request.root, BaseModel) else {}
    return dict(_recorded_fields(request, redaction))


def _recorded_fields(request: BaseModel, redaction: Redaction) -> Iterator[tuple[str, Any]]:
    for name in type(request).model_fields:
        value = getattr(request, name)
        if isinstance(value, BaseModel) or (isinstance(value, list) and value and isinstance(value[0], BaseModel)):
            if name in ("action", "actions", "region"):
                yield name, _nested(value, redaction)
        elif value is not None and name in WAYS:
            yield from _recorded_field(name, value, WAYS[name], redaction)


def _nested(value: Any, redaction: Redaction) -> Any:
    if isinstance(value, list):
        return [recorded_fields_of(each, redaction) for each in value[:MAX_LISTED]]
    return recorded_fields_of(value, redaction)


def _recorded_field(name: str, value: Any, way: Way, redaction: Redaction) -> Iterator[tuple[str, Any]]:
    if way == "count":
        yield f"{name}_length", len(value) if hasattr(value, "__len__") else 1
    elif isinstance(value, str):
        yield (
            name,
            redaction.url(value) if way == "url" and _is_url(value) else redaction.text(value, *([] if way == "text" else [MAX_WORD])),
        )
    elif isinstance(value, bool | int | float):
        yield name, value
    elif isinstance(value, list | tuple | frozenset):
        yield name, [redaction.text(_word(each), MAX_WORD) for each in islice(value, MAX_LISTED)]


def _word(value: Any) -> str:
    """A string or a number as it is; of anything else, which may be large, its kind."""
    return str(value) if isinstance(value, str | bool | int | float) else type(value).__name__


def _is_url(value: str) -> bool:
    """Whether it is an address and no path: `source` is either."""
    return not value.startswith(("/", "~", "."))
