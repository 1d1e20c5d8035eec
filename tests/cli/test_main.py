"""The command as a process: what it lists, calls, writes and exits with."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import KEY, ROOT, CommandLine
from tests.sample import PIXEL


def test_without_words_the_tags_are_listed(sandbox: CommandLine) -> None:
    listed = sandbox()

    assert listed.returncode == 0
    assert {"sandbox", "auth", "health"} <= set(listed.stdout.decode().split())


def test_with_a_tag_its_operations_are_listed(sandbox: CommandLine) -> None:
    listed = sandbox("sandbox").stdout.decode()

    assert re.search(r"^get_context +Describe the computer", listed, re.MULTILINE)


def test_a_tag_of_custom_tools_is_looked_up_in_the_running_api(sandbox: CommandLine) -> None:
    assert b"add" in sandbox("sample").stdout


def test_an_operation_is_called_and_its_data_written_as_json(sandbox: CommandLine) -> None:
    called = sandbox("sample", "add", "--left", "2", "--right", "-5")

    assert (called.returncode, json.loads(called.stdout)) == (0, {"total": -3})


def test_files_are_uploaded_and_fields_go_with_them(sandbox: CommandLine, tmp_path: Path) -> None:
    (tmp_path / 'a "ü.txt').write_bytes(b"\x00\xff")
    called = sandbox("sample", "upload", "--file", str(tmp_path / 'a "ü.txt'), "--path", "/tmp/ü", "--mode", "7")

    assert json.loads(called.stdout) == ["a %22ü.txt b'\\x00\\xff' to /tmp/ü, mode 7"]


def test_a_raw_body_comes_from_a_file_or_standard_input(sandbox: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"from a file")

    assert json.loads(sandbox("sample", "raw", "--shelf", "a", "--body", str(tmp_path / "body")).stdout) == "a b'from a file'"
    assert json.loads(sandbox("sample", "raw", "--shelf", "a", "--body", "-", stdin=b"\x00piped").stdout) == "a b'\\x00piped'"


def test_bytes_are_written_to_the_output_or_to_a_file(sandbox: CommandLine, tmp_path: Path) -> None:
    assert sandbox("sample", "picture").stdout == PIXEL
    assert sandbox("sample", "picture", "-o", str(tmp_path / "picture")).stdout == b""
    assert (tmp_path / "picture").read_bytes() == PIXEL


def test_events_are_written_as_they_come(sandbox: CommandLine) -> None:
    called = sandbox("sample", "count", "--left", "2", "--follow")

    events = [json.loads(line) for line in called.stdout.splitlines()]
    assert events == [
        {"id": "1", "event": "number", "data": {"value": 0}},
        {"id": "2", "event": "number", "data": {"value": 1}},
    ]


def test_words_come_from_standard_input_and_from_files(sandbox: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "shelf").write_text("from a file")

    assert json.loads(sandbox("sample", "shelf", "--shelf", "-", stdin=b"piped").stdout)[0] == "piped"
    assert json.loads(sandbox("sample", "shelf", "--shelf", f"@{tmp_path}/shelf").stdout)[0] == "from a file"
    assert json.loads(sandbox("sample", "shelf", "--shelf", "@@home").stdout)[0] == "@home"


def test_a_failure_is_a_sentence_and_exit_code_1(sandbox: CommandLine) -> None:
    called = sandbox("sample", "clear", "--shelf", "none")

    assert (called.returncode, called.stdout) == (1, b"")
    assert called.stderr == b"sandbox: no shelf 'none'\nlist the shelves first\n"


def test_a_file_failure_is_a_failure_too(sandbox: CommandLine) -> None:
    assert sandbox("sample", "missing").returncode == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("sample", "add"), b"required: --left"),
        (("sample", "add", "--left", "many"), b"invalid int value"),
        (("sample", "add", "--left", "1", "--up", "2"), b"unrecognized arguments: --up 2"),
        (("sample", "nothing"), b"there is no such operation"),
        (("nothing",), b"there is no tag nothing"),
        (("sample", "shelf", "--shelf", "@/nowhere"), b"No such file"),
        (("--api-url", "nowhere", "sample"), b"not the URL"),
    ],
)
def test_a_wrong_command_line_says_so_with_exit_code_2(sandbox: CommandLine, words: tuple[str, ...], reason: bytes) -> None:
    called = sandbox(*words)

    assert called.returncode == 2
    assert reason in called.stderr


def test_a_caller_who_is_not_known_is_a_failure(sandbox: CommandLine) -> None:
    called = sandbox("sample", "add", "--left", "1", env={"SANDBOX_TOKEN": "wrong"})

    assert (called.returncode, called.stderr) == (1, b"sandbox: sign in\ngive a token\n")


def test_a_key_may_be_given_in_either_variable_or_as_a_word(sandbox: CommandLine) -> None:
    assert sandbox("sample", "prose", env={"SANDBOX_TOKEN": "", "SANDBOX_API_KEY": KEY}).returncode == 0
    assert sandbox("--token", KEY, "sample", "prose", env={"SANDBOX_TOKEN": "wrong"}).returncode == 0


def test_an_api_that_is_not_there_is_exit_code_3(sandbox: CommandLine) -> None:
    called = sandbox("--api-url", "http://127.0.0.1:1", "sandbox", "info")

    assert called.returncode == 3
    assert b"http://127.0.0.1:1 did not answer" in called.stderr


def test_a_reader_that_has_seen_enough_is_no_failure(url: str) -> None:
    script = (
        f"SANDBOX_API_URL={url} SANDBOX_TOKEN='{KEY}' {sys.executable} -m sandbox_server.cli sample count --left 100000 --follow | head -n1"
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, timeout=60, check=False)

    assert done.returncode == 0
    assert done.stderr == b""


def test_starting_imports_the_standard_library_alone() -> None:
    listed = "import sys, sandbox_server.cli.__main__; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-S", "-c", listed], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT)

    loaded = set(done.stdout.split()) - set(sys.stdlib_module_names) - set(sys.builtin_module_names)
    assert {name for name in loaded if not name.startswith("_")} == {"sandbox_server"}
