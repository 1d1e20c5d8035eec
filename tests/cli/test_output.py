import http.client
import io
import json
import re
from pathlib import Path

import pytest

from sandbox_server.cli.output import words, write
from sandbox_server.cli.stop import Stop
from tests.cli.test_client import Wire


def response(body: bytes, kind: str = "application/json", size: int | None = None) -> http.client.HTTPResponse:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body) if size is None else size}\r\n\r\n"
    found = http.client.HTTPResponse(Wire(head.encode() + body))  # type: ignore[arg-type]
    found.begin()
    return found


def answer(data: object, **more: object) -> http.client.HTTPResponse:
    return response(json.dumps({"success": True, "message": "Done", "data": data, "hint": None, **more}).encode())


def test_a_program_gets_the_data_as_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    write(answer({"a": "x\ny"}), None, human=False)

    assert capsys.readouterr().out == '{"a": "x\\ny"}\n'


def test_a_person_gets_words_and_the_hint_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    write(answer({"status": "completed", "output": "x\ny\n", "gone": None}, hint="look"), None, human=True)

    assert capsys.readouterr() == ("status: completed\noutput:\nx\ny\n", "look\n")


def test_a_person_reads_dates_and_nothing_twice(capsys: pytest.CaptureFixture[str]) -> None:
    write(answer({"created": 1795355993.5, "output": "hi", "console": [{"command": "echo hi", "output": "hi"}]}), None, human=True)

    assert re.fullmatch(r"created: 2026-11-2\d \d\d:\d\d:\d\d \w+\noutput: hi\n", capsys.readouterr().out)


def test_a_console_that_nothing_else_says_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    write(answer({"console": [{"command": "echo hi", "output": "hi"}], "output": None}), None, human=True)

    assert "echo hi" in capsys.readouterr().out


def test_a_person_learns_that_it_worked(capsys: pytest.CaptureFixture[str]) -> None:
    write(answer(None), None, human=True)

    assert capsys.readouterr().out == "Done\n"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("prose", "prose"),
        (3, "3"),
        (["a", "b"], "a\nb"),
        ([{"a": 1}, {"a": 2}], "A\n1\n2"),
        ([{"a": 1}, "b"], "a: 1\n\nb"),
        ({"ports": [{"port": 3000, "url": "u"}], "ready": None}, "PORT  URL\n3000  u"),
        ({"count": 1, "sessions": {"s": {"age": 2, "state": "x"}}}, "count: 1\nsessions:\nNAME  AGE  STATE\ns     2    x"),
        ([{f"field_{n}": "x" * 30 for n in range(40)}], "\n".join(f"field_{n}: " + "x" * 30 for n in range(40))),
        ({"a": {"b": "ü"}, "c": True}, 'a: {"b": "ü"}\nc: true'),
        ([], ""),
    ],
)
def test_data_in_words(data: object, text: str) -> None:
    assert words(data) == text


def test_an_answer_that_says_it_failed_is_a_failure() -> None:
    with pytest.raises(Stop) as stopped:
        write(answer(None, success=False, message="no such file"), None, human=False)

    assert (stopped.value.code, stopped.value.sentence) == (1, "no such file")


def test_an_answer_without_the_envelope_is_written_whole(capsys: pytest.CaptureFixture[str]) -> None:
    write(response(b'{"ticket": "t"}'), None, human=False)

    assert capsys.readouterr().out == '{"ticket": "t"}\n'


EVENTS = b': keep-alive\n\nid: 1\nevent: output\ndata: {"data": "hello "}\n\nevent: exit\ndata: {"exit_code": 0}\n\n'


def test_a_person_reads_the_text_of_events(capsys: pytest.CaptureFixture[str]) -> None:
    write(response(EVENTS, "text/event-stream"), None, human=True)

    assert capsys.readouterr().out == 'hello [exit] {"exit_code": 0}\n'


def test_a_program_reads_each_event_whole(capsys: pytest.CaptureFixture[str]) -> None:
    write(response(EVENTS, "text/event-stream"), None, human=False)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"id": "1", "event": "output", "data": {"data": "hello "}}, {"event": "exit", "data": {"exit_code": 0}}]


def test_an_event_that_is_an_error_ends_with_a_failure() -> None:
    stream = b'event: error\ndata: {"kind": "conflict", "message": "gone", "hint": null}\n\n'
    with pytest.raises(Stop) as stopped:
        write(response(stream, "text/event-stream"), None, human=True)

    assert (stopped.value.code, stopped.value.sentence) == (1, "gone")


def test_bytes_go_to_a_file(tmp_path: Path) -> None:
    write(response(b"\x00\xff", "image/png"), str(tmp_path / "x"), human=True)

    assert (tmp_path / "x").read_bytes() == b"\x00\xff"


def test_a_file_that_cannot_be_written_is_a_wrong_command_line() -> None:
    with pytest.raises(Stop) as stopped:
        write(response(b"x", "image/png"), "/nowhere/at/all", human=False)

    assert stopped.value.code == 2


@pytest.mark.parametrize("kind", ["application/json", "image/png"])
def test_an_answer_that_breaks_off_is_no_success(kind: str, tmp_path: Path) -> None:
    with pytest.raises(Stop) as stopped:
        write(response(b"{}", kind, size=10), str(tmp_path / "x"), human=False)

    assert stopped.value.code == 3
    assert "broke off" in stopped.value.sentence


def test_bytes_are_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    with pytest.raises(Stop) as stopped:
        write(response(b"x", "image/png"), None, human=True)

    assert stopped.value.code == 2
    assert "--output" in stopped.value.sentence
