import json

import pytest

from sandbox_server.cli.__main__ import DOCUMENT
from sandbox_server.cli.document import read_operations
from sandbox_server.cli.listing import of_tag, overview
from sandbox_server.cli.stop import Stop

COMMITTED = json.loads(DOCUMENT.read_text("utf-8"))
OPERATIONS = read_operations(COMMITTED)


def test_every_word_that_may_stand_first_has_a_line_that_says_what_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.split(maxsplit=1) for line in overview(COMMITTED).splitlines() if line.startswith("  ")]
    listed = dict(lines)

    assert {operation.tag for operation in OPERATIONS} | {"sign-in", "plugins", "exec", "ask", "undo", "checkpoint"} <= set(listed)
    assert listed["checkpoints"] == "Keep the state of the files, compare, and go back."


def test_the_list_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert max(map(len, overview(COMMITTED).splitlines())) <= 50


def test_a_tag_is_listed_by_operation() -> None:
    listed = of_tag([operation for operation in OPERATIONS if operation.tag == "checkpoints"], "checkpoints")
    assert "restore_checkpoint" in [line.split()[0] for line in listed.splitlines()]


def test_a_tag_that_is_not_there_is_named() -> None:
    with pytest.raises(Stop) as stopped:
        of_tag([], "nothing")
    assert "there is no tag nothing" in stopped.value.sentence
