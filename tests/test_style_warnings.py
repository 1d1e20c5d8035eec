"""What the gate warns of is told with its file and line, and fails nothing."""

from pathlib import Path

import pytest

from tests.style_warnings import LONG, main, warnings


def write(root: Path, name: str, text: str) -> None:
    """Write a file of a repository; its quotes stand for backticks, since no sample is a reference of this file."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text.replace("'", "`"))


def test_how_a_page_reads_is_told(tmp_path: Path) -> None:
    write(tmp_path, "README.md", f"# Title\n\nFor you.\n\n{'word ' * 30}\n")
    write(tmp_path, "docs/one.md", "# Title\n\nOf you.\n\n" + "So it is. " * 6)
    write(tmp_path, "docs/two.md", "# Title\n\nFor you.\n")
    assert list(warnings(tmp_path)) == [
        "README.md:5: a line of 150 characters; 120 are the most",
        "docs/one.md:3: a page begins with whom it is for",
        "docs/one.md:5: a paragraph of 6 sentences; 5 are the most",
    ]


def test_what_a_comment_names_and_is_not_there_is_told(tmp_path: Path) -> None:
    write(
        tmp_path, "sandbox_server/one.py", '"""See \'tests/nothing.py\'."""\n\nONE = 1  # as \'sandbox_server.two\' and Decision 12 say\n'
    )
    write(tmp_path, "docs/one.md", "# Title\n\nFor you: 'tests/nothing.py'.\n")
    assert list(warnings(tmp_path)) == [
        "sandbox_server/one.py:1: there is no tests/nothing.py",
        "sandbox_server/one.py:3: there is no sandbox_server.two",
        "sandbox_server/one.py:3: there is no decision 12",
    ]


def test_a_file_that_grows_long_is_told(tmp_path: Path) -> None:
    write(tmp_path, "sandbox_server/long.py", "\n" * (LONG + 1))
    write(tmp_path, "sandbox_server/short.py", "\n" * LONG)
    assert list(warnings(tmp_path)) == [f"sandbox_server/long.py:{LONG + 1}: a file of {LONG + 1} lines; split it at {LONG}"]


def test_the_gate_prints_each_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(tmp_path)
    assert capsys.readouterr().err == ""
    write(tmp_path, "README.md", f"# Title\n\nFor you.\n\n{'word ' * 30}\n")
    main(tmp_path)
    assert capsys.readouterr().err == "check: warning: README.md:5: a line of 150 characters; 120 are the most\n"
