import os

import pytest

from sandbox_server.features.file import history as module
from sandbox_server.features.file.history import History


def test_edits_come_back_last_first() -> None:
    history = History()
    history.add("/f", None, b"one")
    history.add("/f", b"one", b"two")
    last = history.last("/f")
    assert last is not None
    assert (last.content, last.left(b"two"), last.left(b"other")) == (b"one", True, False)
    history.drop("/f")
    first = history.last("/f")
    assert first is not None
    assert first.content is None
    history.drop("/f")
    assert history.last("/f") is None


def test_an_edit_of_one_file_is_not_one_of_another() -> None:
    history = History()
    history.add("/f", b"", b"x")
    assert history.last("/g") is None


def test_only_the_last_edits_of_a_file_are_kept() -> None:
    history = History()
    for number in range(module.MAX_EDITS + 3):
        history.add("/f", b"%d" % number, b"")
    kept = []
    while (edit := history.last("/f")) is not None:
        kept.append(edit.content)
        history.drop("/f")
    assert kept == [b"%d" % number for number in range(module.MAX_EDITS + 2, 2, -1)]


def test_the_files_edited_longest_ago_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 30_000)
    history = History()
    for path in ("/a", "/b", "/a", "/c"):
        history.add(path, os.urandom(8_000), b"")
    assert [path for path in ("/a", "/b", "/c") if history.last(path)] == ["/a", "/c"]
