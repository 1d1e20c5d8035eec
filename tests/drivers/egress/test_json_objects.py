import json

import pytest

from sandbox_server.drivers.egress.json_objects import pointer_token, unique_fields


def test_an_object_has_each_field_once() -> None:
    assert json.loads('{"a": 1, "b": {"a": 2}}', object_pairs_hook=unique_fields) == {"a": 1, "b": {"a": 2}}
    with pytest.raises(ValueError, match="twice"):
        json.loads('{"b": {"a": 1, "a": 2}}', object_pairs_hook=unique_fields)


@pytest.mark.parametrize(("name", "token"), [("a", "a"), ("a/b", "a~1b"), ("~1", "~01"), ("", "")])
def test_a_name_in_a_pointer_is_escaped(name: str, token: str) -> None:
    assert pointer_token(name) == token
