"""What is kept beside files, and texts that only look like it."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from sandbox_server.drivers.forks.fork_state import (
    MAX_FIELDS,
    MAX_SCREEN,
    MAX_SHELLS,
    MAX_STATE,
    MAX_TABS,
    MAX_VARIABLES,
    KeptField,
    KeptProgram,
    KeptShell,
    KeptState,
    KeptTab,
)
from tests.tables import table_test

PATH = ":root>:nth-child(2)>:nth-child(13)"
STATE = KeptState(
    (KeptShell("main", "/home/gem", "declare -x A=1\n", "ä\x1b[1m", implicit=True, no_change_timeout=2.5),),
    (KeptTab("https://a.example/", "A", front=True, x=1.0, y=2.5, fields=(KeptField(PATH, "text", "Mia"),)),),
    (KeptProgram(("sleep", "9"), "/usr", 1000, "bash:1"),),
    ("tabs: too late",),
)


def test_what_was_kept_is_read() -> None:
    assert KeptState.loads(STATE.dumps()) == STATE
    assert KeptState.loads("{}") == KeptState()


def test_screens_go_first_and_then_variables_where_it_is_too_long() -> None:
    shells = tuple(KeptShell(f"s{n}", "/", "v" * 1000, "ä" * MAX_SCREEN) for n in range(MAX_SHELLS))
    kept = KeptState.loads(KeptState(shells).dumps())
    assert {(each.variables, each.screen) for each in kept.shells} == {("v" * 1000, "")}
    shells = tuple(KeptShell(f"s{n}", "/", "v" * MAX_VARIABLES, "x") for n in range(MAX_SHELLS))
    kept = KeptState.loads(KeptState(shells).dumps())
    assert {(each.directory, each.variables, each.screen) for each in kept.shells} == {("/", "", "")}
    fields = tuple(KeptField(PATH, "text", "x" * 4000) for _ in range(MAX_FIELDS))
    assert KeptState.loads(KeptState(tabs=(KeptTab("a", fields=fields),) * MAX_TABS).dumps()).problems == ("the state has more than 2 MiB",)


def changed(kind: str, **changes: object) -> str:
    told: dict[str, Any] = json.loads(json.dumps(asdict(STATE)))
    told[kind][0] |= changes
    return json.dumps(told)


FIELD = {"path": PATH, "kind": "text", "value": "x"}
BAD = {
    "no object": "[]",
    "no JSON": "{",
    "nested": "[" * 100_000,
    "too long": " " * (MAX_STATE + 1),
    "shells that are no list": '{"shells": {}}',
    "too many shells": json.dumps({"shells": [asdict(STATE.shells[0])] * (MAX_SHELLS + 1)}),
    "a shell twice": json.dumps({"shells": [asdict(STATE.shells[0])] * 2}),
    "a shell without an id": changed("shells", id=""),
    "a shell whose id is a number": changed("shells", id=7),
    "a shell with a NUL": changed("shells", variables="a\0b"),
    "a shell with half a letter": changed("shells", screen="\ud800"),
    "a shell with a screen that is too long": changed("shells", screen="x" * (MAX_SCREEN + 1)),
    "a shell that waits for ever": changed("shells", no_change_timeout=1e300),
    "a shell that waits for no number": changed("shells", no_change_timeout=float("nan")),
    "a tab without an address": changed("tabs", url=None),
    "a tab scrolled to nowhere": changed("tabs", y=float("inf")),
    "a tab scrolled to a truth": changed("tabs", y=True),
    "a field of another kind": changed("tabs", fields=[FIELD | {"kind": "password"}]),
    "a field by any selector": changed("tabs", fields=[FIELD | {"path": "input:has(*)"}]),
    "a field by a path that goes elsewhere": changed("tabs", fields=[FIELD | {"path": PATH + ",*"}]),
    "a field without a value": changed("tabs", fields=[{"path": PATH, "kind": "text"}]),
    "too many fields": changed("tabs", fields=[FIELD] * (MAX_FIELDS + 1)),
    "a program of nobody": changed("programs", uid=-1),
    "a program of words that are none": changed("programs", argv=[1]),
    "a problem that is none": '{"problems": [7]}',
}


@table_test(BAD)
def test_what_is_malformed_is_refused(kept: str) -> None:
    with pytest.raises(ValueError, match=r"the state|line 1"):
        KeptState.loads(kept)


def test_a_shell_in_no_directory_is_in_the_root() -> None:
    assert KeptState.loads(changed("shells", directory="../etc")).shells[0].directory == "/"
