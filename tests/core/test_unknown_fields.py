import json
import time
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, RootModel

from sandbox_server.core import Model
from sandbox_server.core.unknown_fields import MAX_NAMED, hint, suggestion, unknown_fields


class Limits(Model):
    networks: tuple[str, ...] = ()
    inner: "Limits | None" = None


type AnyLimits = Annotated[Limits | None, Field()]


class Cookie(Model, extra="allow"):
    name: str
    limits: Limits | None = None


class Ask(Model):
    label: str = ""
    exec_dir: str | None = None
    session_id: str | None = None
    limits: AnyLimits = None
    either: str | Limits = ""
    many: list[Limits] = Field(default_factory=list)
    by_key: dict[str, Limits] = Field(default_factory=dict)
    cookies: list[Cookie] = Field(default_factory=list)
    anything: dict[str, Any] = Field(default_factory=dict)


class Nothing(Model):
    pass


class Move(Model):
    kind: Literal["move"] = "move"
    x: int


class Wait(Model):
    kind: Literal["wait"] = "wait"
    seconds: float


class Act(RootModel[Annotated[Move | Wait, Field(discriminator="kind")]]):
    pass


def told(model: Any, **fields: object) -> list[str]:
    return [each.at + each.name for each in unknown_fields(model, fields)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "x"}, "Ignored unknown field 'name' (did you mean 'label'?)."),
        ({"lable": "x"}, "Ignored unknown field 'lable' (did you mean 'label'?)."),
        ({"sessionId": "x"}, "Ignored unknown field 'sessionId' (did you mean 'session_id'?)."),
        (
            {"session-id": "x", "cwd": "/"},
            "Ignored unknown fields 'session-id' (did you mean 'session_id'?), 'cwd' (did you mean 'exec_dir'?).",
        ),
        (
            {"name": "x", "label": "y", "session_id": "z"},
            "Ignored unknown field 'name'. The fields are anything, by_key, cookies, either, exec_dir, label, limits, many, session_id.",
        ),
        ({"limits": {"network": []}}, "Ignored unknown field 'limits.network' (did you mean 'limits.networks'?)."),
        ({"limits": {"what": []}}, "Ignored unknown field 'limits.what'."),
        ({"label": "x", "limits": {"networks": [], "inner": None}}, None),
        ({}, None),
    ],
)
def test_a_hint_names_what_is_unknown_and_what_may_have_been_meant(fields: dict[str, object], said: str | None) -> None:
    assert hint(Ask, fields) == said


def test_an_operation_without_fields_says_so() -> None:
    for model in (None, Nothing):
        assert hint(model, {"note": 1}) == "Ignored unknown field 'note'. There are no fields here."


def test_unknown_fields_are_found_in_lists_maps_and_alternatives() -> None:
    inner = {"inner": {"a": 1}}

    assert told(Ask, many=[{}, {"b": 1}], by_key={"k": inner}, either={"c": 1}) == ["many.1.b", "by_key.k.inner.a", "either.c"]


def test_what_may_hold_anything_has_no_unknown_field() -> None:
    assert told(Ask, anything={"a": {"b": 1}}, cookies=[{"name": "x", "more": 1}]) == []
    assert told(Ask, cookies=[{"name": "x", "limits": {"d": 1}}]) == ["cookies.0.limits.d"]


def test_a_value_of_another_type_is_left_to_validation() -> None:
    assert told(Ask, label={"a": 1}, limits=[{"a": 1}], many={"a": 1}, by_key=[1], either=["x"]) == []


def test_of_several_requests_the_one_that_is_meant_counts() -> None:
    assert told(Act, kind="move", x=1, seconds=2) == ["seconds"]
    assert told(Act, kind="wait", seconds=2) == []
    assert told(Act, kind="unheard of", seconds=2) == []
    assert hint(Act, {"kind": "move", "x": 1, "y": 2}) == "Ignored unknown field 'y'. The fields are kind, seconds, x."


def test_only_what_is_inside_is_told_where_the_rest_is_refused() -> None:
    assert hint(Ask, {"what": 1, "limits": {"how": 1}}, inner_only=True) == "Ignored unknown field 'limits.how'."
    assert hint(Ask, {"what": 1}, inner_only=True) is None


def test_a_hint_is_short_whatever_was_sent() -> None:
    many = hint(Ask, {f"field{number}": number for number in range(10_000)})
    long = hint(Ask, {"x" * 1_000_000: 1})
    controls = hint(Ask, {"a\r\nSet-Cookie: b\x1b[2J\u202e": 1})

    assert many is not None
    assert f" and {5_000 - MAX_NAMED} more." in many
    assert many.count("'field") == MAX_NAMED
    assert long is not None
    assert len(long) < 300
    assert controls is not None
    assert "'a\\r\\nSet-Cookie: b\\x1b[2J\\u202e'" in controls
    assert controls.isprintable()


def test_a_hint_takes_little_time_whatever_was_sent() -> None:
    deep = json.loads('{"inner":' * 120 + '{"z":1}' + "}" * 120)
    wide = {"by_key": {str(number): {"y": 1} for number in range(200_000)}, "many": [{"x": {}}] * 100_000}
    began = time.process_time()

    assert (hint(Ask, {"limits": deep}) or "").startswith("Ignored unknown field 'limits.inner.inner.")
    assert hint(Ask, wide)
    assert hint(Ask, {"x" * 10_000_000: 1, **{"y" * 100_000 + str(number): 1 for number in range(20)}})
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("cmd", {"command", "timeout"}, "command"),
        ("seconds", {"timeout", "wait"}, None),
        ("exec-dir", {"exec_dir"}, "exec_dir"),
        ("zzz", {"command"}, None),
        ("", {"command"}, None),
    ],
)
def test_a_suggestion_is_one_field_that_is_near(name: str, known: set[str], meant: str | None) -> None:
    assert suggestion(name, known) == meant


class UnreadName(str):
    """A name that may be cut and not be read whole."""

    def lower(self) -> str:
        raise AssertionError("all of it was read")


def test_of_a_name_as_large_as_a_body_only_its_beginning_is_read() -> None:
    assert suggestion(UnreadName("x" * 1000), {"label", "exec_dir"}) is None
    assert suggestion(UnreadName("label"), {"label", "exec_dir"}) == "label"
