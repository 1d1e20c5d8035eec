"""The comparison itself finds what it is there to find."""

from typing import Any

import pytest

from tests.contract.compare import Comparison, Side

COMPONENTS = {"Thing": {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}}


def problems(ours: dict[str, Any], theirs: dict[str, Any], *, answer: bool) -> list[str]:
    return list(Comparison(Side(COMPONENTS), Side(COMPONENTS), answer=answer).problems(ours, theirs, "x"))


def an_object(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


TEXT, NUMBER, INTEGER, NULL = ({"type": kind} for kind in ("string", "number", "integer", "null"))


@pytest.mark.parametrize("schema", [TEXT, {}, {"$ref": "#/components/schemas/Thing"}, {"anyOf": [TEXT, NULL]}, {"enum": ["a"]}])
@pytest.mark.parametrize("answer", [True, False])
def test_a_schema_can_stand_for_itself(schema: dict[str, Any], answer: bool) -> None:
    assert problems(schema, schema, answer=answer) == []


def test_we_may_answer_less_than_is_published_and_not_more() -> None:
    wide = {"anyOf": [TEXT, NULL]}

    assert problems(TEXT, wide, answer=True) == []
    assert problems(wide, TEXT, answer=True) == ["x: null is not among string"]
    assert problems(INTEGER, NUMBER, answer=True) == []
    assert problems(NUMBER, INTEGER, answer=True) == ["x: number is not among integer"]


def test_we_take_all_that_is_published() -> None:
    assert problems({"anyOf": [TEXT, INTEGER]}, TEXT, answer=False) == []
    assert problems(INTEGER, NUMBER, answer=False) == ["x: number is not among integer"]


def test_null_for_what_need_not_be_given_is_taken_whatever_the_schema_says() -> None:
    theirs = an_object(a={"anyOf": [TEXT, NULL]})

    assert problems(an_object(a=TEXT), theirs, answer=False) == []
    assert problems(an_object(["a"], a=TEXT), theirs, answer=False) == ["x.a: null is not among string", "x.a: need not be given, and must"]


def test_a_published_field_must_be_there() -> None:
    for answer in (True, False):
        assert problems(an_object(a=TEXT), an_object(a=TEXT, b=TEXT), answer=answer) == ["x.b: missing"]
        assert problems(an_object(a=TEXT, b=TEXT), an_object(a=TEXT), answer=answer) == []


def test_what_must_be_given_is_the_same() -> None:
    assert problems(an_object(a=TEXT), an_object(["a"], a=TEXT), answer=False) == ["x.a: must be given, and need not"]


def test_a_default_is_the_same() -> None:
    assert problems(an_object(a={**INTEGER, "default": 2}), an_object(a={**INTEGER, "default": 3}), answer=False) == [
        "x.a: defaults to 2, not 3"
    ]


def test_a_limit_is_the_same() -> None:
    assert problems({**INTEGER, "maximum": 5}, {**INTEGER, "maximum": 9}, answer=False) == ["x: maximum is 5, not 9"]


def test_words_are_within_words() -> None:
    few, many = {"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a", "b"]}

    assert problems(few, many, answer=True) == []
    assert problems(many, few, answer=True) == ["x: ['a', 'b'] is not within ['a']"]
    assert problems(few, many, answer=False) == ["x: ['a', 'b'] is not within ['a']"]
    assert problems(TEXT, few, answer=True) == ["x: any value is not within ['a']"]


def test_differences_are_found_inside_lists_maps_and_references() -> None:
    assert problems({"type": "array", "items": INTEGER}, {"type": "array", "items": TEXT}, answer=True) == [
        "x[]: integer is not among string"
    ]
    ours = {"type": "object", "additionalProperties": INTEGER}
    assert problems(ours, {"type": "object", "additionalProperties": TEXT}, answer=True) == ["x{}: integer is not among string"]
    assert problems(an_object(), {"$ref": "#/components/schemas/Thing"}, answer=True) == ["x.size: missing"]


def test_one_alternative_that_fits_is_enough() -> None:
    theirs = {"anyOf": [an_object(a=TEXT), an_object(b=TEXT)]}

    assert problems(an_object(b=TEXT), theirs, answer=True) == []
    assert problems(an_object(c=TEXT), theirs, answer=True) == ["x.a: missing"]
