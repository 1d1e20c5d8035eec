from typing import Any

import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.egress.merge_patch import merge, patched, wrong

ONE, TWO, NEW = {"name": "one", "action": "allow"}, {"name": "two", "action": "deny"}, {"name": "new", "action": "ask"}
DOCUMENT = {"default": "deny", "rules": [ONE, TWO], "upstreams": {"a": "http://a:1"}}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({}, DOCUMENT),
        ({"mode": "learn"}, {**DOCUMENT, "mode": "learn"}),
        ({"rules": [NEW]}, {**DOCUMENT, "rules": [NEW]}),
        ({"rules": None}, {"default": "deny", "upstreams": {"a": "http://a:1"}}),
        ({"upstreams": {"b": "http://b:1"}}, {**DOCUMENT, "upstreams": {"a": "http://a:1", "b": "http://b:1"}}),
        ({"upstreams": {"a": None}}, {**DOCUMENT, "upstreams": {}}),
        ({"add": [NEW]}, {**DOCUMENT, "rules": [NEW, ONE, TWO]}),
        ({"append": [NEW]}, {**DOCUMENT, "rules": [ONE, TWO, NEW]}),
        ({"remove": ["one"]}, {**DOCUMENT, "rules": [TWO]}),
        ({"remove": ["two"], "add": [TWO]}, {**DOCUMENT, "rules": [TWO, ONE]}),
        ({"rules": "none", "add": [NEW]}, {**DOCUMENT, "rules": "none"}),
    ],
)
def test_a_patch_changes_what_it_names(patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert patched(DOCUMENT, patch) == expected
    assert DOCUMENT["rules"] == [ONE, TWO]


def test_a_rule_without_a_name_is_named_by_its_place() -> None:
    assert patched({"rules": [{"action": "allow"}, ONE]}, {"remove": ["rule 0"]}) == {"rules": [ONE]}


@pytest.mark.parametrize(
    ("patch", "pointer"), [({"remove": ["one", "three"]}, "/remove/1"), ({"remove": "one"}, "/remove"), ({"add": {}}, "/add")]
)
def test_what_cannot_be_done_is_named_by_its_pointer(patch: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        patched(DOCUMENT, patch)
    assert [problem["pointer"] for problem in refused.value.problems] == [pointer]


def test_a_patch_without_end_is_merged_to_a_bounded_depth() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"a": deep}
    merge({}, deep)


def test_a_pointer_is_a_location_too() -> None:
    [problem] = wrong([("/rules/3/a~1b~0c", "is wrong")]).problems
    assert problem == {"loc": ("rules", 3, "a/b~c"), "pointer": "/rules/3/a~1b~0c", "msg": "is wrong", "type": "egress_policy"}
