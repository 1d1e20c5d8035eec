"""A receipt is short."""

import time

from sandbox_server.core.receipt import Receipt, TabChange
from sandbox_server.features.recorder.truncation import MAX_BYTES, MAX_ENTRY, truncated

PLAIN = Receipt(id="1" * 16, person="ann", began_at=1.0, ended_at=2.0, ended="released")


def test_a_short_one_stays_as_it_is() -> None:
    made = PLAIN.model_copy(update={"files": ["/a"], "tabs": [TabChange(was=None, now="https://a.example/")]})
    assert truncated(made) == made


def test_a_long_one_loses_entries_of_its_longest_lists_and_says_how_many() -> None:
    made = PLAIN.model_copy(update={"files": [f"/home/gem/{number}" for number in range(400)], "commands": ["ls"], "note": "n" * 2000})
    cut = truncated(made)
    assert len(cut.model_dump_json().encode()) <= MAX_BYTES
    assert cut.commands == ["ls"]
    assert cut.omitted == 400 - len(cut.files)
    assert cut.files


def test_a_long_entry_is_cut() -> None:
    tab = TabChange(was="x" * 1000, now=None)
    cut = truncated(PLAIN.model_copy(update={"commands": ["y" * 1000], "tabs": [tab]}))
    assert (len(cut.commands[0]), len(cut.tabs[0].was or ""), cut.omitted) == (MAX_ENTRY, MAX_ENTRY, 0)


def test_very_many_entries_take_no_longer_than_there_are() -> None:
    files = [f"/{number}" for number in range(20_000)]
    started = time.thread_time()
    cut = truncated(PLAIN.model_copy(update={"files": files}))
    assert time.thread_time() - started < 2
    assert cut.omitted + len(cut.files) == len(files)
    assert len(cut.model_dump_json().encode()) <= MAX_BYTES
