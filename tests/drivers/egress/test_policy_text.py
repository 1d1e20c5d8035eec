import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.egress.json_objects import unique_fields
from sandbox_server.drivers.egress.policy_text import JsonArray, decode_policy


def plain(value: object) -> object:
    """A decoded policy with lists for what is decoded one entry after the other."""
    if not isinstance(value, dict):
        return value
    return {name: list(found) if isinstance(found, JsonArray) else found for name, found in value.items()}


def test_rules_are_counted_at_once_and_decoded_each_time_that_they_are_read() -> None:
    found: Any = decode_policy('{"mode": "learn", "rules": [ {"name": "a"} , 5 ], "rules2": [1]}')
    rules = found["rules"]
    assert isinstance(rules, JsonArray)
    assert (len(rules), list(rules), found["mode"], found["rules2"]) == (2, [{"name": "a"}, 5], "learn", [1])
    one, other = iter(rules), iter(rules)
    assert next(one) == next(other) == {"name": "a"}
    assert next(iter(rules)) is not next(iter(rules))


@pytest.mark.parametrize("text", ['{"rules": {"rules": [1]}}', '[{"rules": [1]}]', '{"more": {"rules": [1]}}', '"rules"'])
def test_no_other_array_is_read_that_way(text: str) -> None:
    assert decode_policy(text) == json.loads(text)


_documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["rules", "mode", 'a"b']), inner, max_size=3),
    max_leaves=8,
)


@given(
    _documents,
    st.sampled_from([None, 1]),
    st.integers(0, 60),
    st.sampled_from(["", ",", "]", "}", "{", "[", ":", '"', " \t\r\n", "x", "\ufeff"]),
)
def test_every_text_is_read_as_the_standard_library_reads_it(document: object, indent: int | None, at: int, more: str) -> None:
    whole = json.dumps({"rules": document} if indent else document, indent=indent)
    for text in (whole, whole[:at] + more + whole[at:], whole[:at], whole[:at] + whole[at + 1 :]):
        try:
            expected = json.loads(text, object_pairs_hook=unique_fields)
        except ValueError:
            with pytest.raises(ValueError, match=r"Expecting|Extra|twice|Invalid|Unterminated|Illegal|escape"):
                plain(decode_policy(text))
        else:
            assert plain(decode_policy(text)) == expected


@pytest.mark.parametrize(
    "text", ['{"rules": [' + "[" * 100_000, '{"rules": ' + "[" * 100_000, "[" * 100_000, '{"rules": [' + '{"rules": [' * 50_000]
)
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        decode_policy(text)
