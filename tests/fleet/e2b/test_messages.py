"""The JSON of Protocol Buffers."""

import pytest
from pydantic import ValidationError
from tandem_fleet.e2b.messages import Data, Int64, Message


class One(Message):
    """A message of these tests."""

    some_bytes: Data | None = None
    big: Int64 = 0


@pytest.mark.parametrize("text", ["+/8=", "-_8=", "-_8", "+/8"])
def test_bytes_are_read_in_either_alphabet(text: str) -> None:
    assert One.model_validate({"someBytes": text}).some_bytes == b"\xfb\xff"


@pytest.mark.parametrize("value", ["a", "ä", 1, ["a"], "a b="])
def test_other_things_are_no_bytes(value: object) -> None:
    with pytest.raises(ValidationError):
        One.model_validate({"someBytes": value})


def test_numbers_of_64_bits_are_text_and_what_is_unset_is_left_out() -> None:
    assert One(big=2**53 + 1).to_json() == b'{"big":"9007199254740993"}'
    assert One(some_bytes=b"\xfb\xff").to_json() == b'{"someBytes":"+/8=","big":"0"}'
    assert One.model_validate({"big": "7", "someBytes": None}) == One(big=7)
