import json
import os

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.files.name_encoding import from_wire, to_wire


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_every_name_comes_back_as_it_was(name: bytes) -> None:
    wire = to_wire(os.fsdecode(name))
    assert os.fsencode(from_wire(wire)) == name


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_every_name_survives_a_strict_json_library(name: bytes) -> None:
    wire = to_wire(os.fsdecode(name))
    assert orjson.loads(orjson.dumps(wire)) == wire == json.loads(json.dumps(wire))


def test_a_name_that_is_utf8_travels_as_itself() -> None:
    assert to_wire("Grüße/日本.txt") == "Grüße/日本.txt"


def test_bytes_that_are_not_utf8_travel_in_the_private_use_area() -> None:
    assert to_wire(os.fsdecode(b"caf\xe9")) == "caf\uefe9"


@pytest.mark.parametrize("name", ["a\0b", "half \ud800 of a pair"])
def test_text_that_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a path cannot contain"):
        from_wire(name)
