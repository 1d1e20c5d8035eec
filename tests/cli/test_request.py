import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.cli.document import read_operations
from sandbox_server.cli.request import body_of, opened, target
from sandbox_server.cli.stop import Stop


def found(described: Any, name: str) -> Any:
    return next(operation for operation in read_operations(described) if operation.name == name)


def test_the_path_and_the_query_are_quoted(described: Any) -> None:
    assert target(found(described, "shelf"), {"shelf": "a/b?ü", "colours": ["x&y", "z"], "shiny": True}) == (
        "/v1/sample/shelves/a%2Fb%3F%C3%BC?colours=x%26y&colours=z&shiny=true"
    )
    assert target(found(described, "add"), {"left": 1}) == "/v1/sample/add"


def test_a_json_body_has_its_fields_alone(described: Any) -> None:
    body, headers = body_of(found(described, "add"), {"left": 1}, None)

    assert json.loads(body) == {"left": 1}
    assert headers == {"Content-Type": "application/json"}


def test_a_form_gives_its_fields_before_its_files(described: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    body, headers = body_of(found(described, "upload"), {"file": tmp_path / "a", "path": "/x"}, None)

    text = b"".join(body)
    assert headers["Content-Type"].startswith("multipart/form-data; boundary=")
    assert text.index(b'name="path"') < text.index(b'name="file"; filename="a"')
    assert b"\r\n\r\ncontent\r\n--" in text


def test_an_operation_without_a_body_sends_none(described: Any) -> None:
    assert body_of(found(described, "prose"), {}, None) == (None, {})


def test_a_raw_body_is_read_piece_by_piece(described: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 3_000_000)))
    body, _ = body_of(found(described, "raw"), {"shelf": "a"}, "-")

    assert [len(chunk) for chunk in body] == [1 << 20, 1 << 20, 3_000_000 - (2 << 20)]


def test_a_file_that_is_not_there_is_a_wrong_command_line() -> None:
    with pytest.raises(Stop) as stopped:
        opened("/nowhere/at/all")

    assert stopped.value.code == 2
