"""Outputs of code as lines."""

import json
from typing import Any

import pytest
from tandem_fleet.e2b.code_outputs import line, messages


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"output_type": "execute_result", "data": {"text/plain": "'a'"}}, {"type": "result", "is_main_result": True, "text": "a"}),
        ({"output_type": "execute_result", "data": {"text/plain": "'"}}, {"type": "result", "is_main_result": True, "text": "'"}),
        (
            {"output_type": "display_data", "data": {"image/png": "iV", "text/html": "<b>", "application/json": {"a": 1}, "x/y": 1}},
            {"type": "result", "is_main_result": False, "png": "iV", "html": "<b>", "json": {"a": 1}, "extra": {"x/y": 1}},
        ),
        (
            {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["a", "b"]},
            {"type": "error", "name": "E", "value": "v", "traceback": "a\nb"},
        ),
    ],
)
def test_an_output_is_said_as_clients_read_it(output: dict[str, Any], said: dict[str, Any]) -> None:
    assert messages(output) == [said]


def test_streams_have_their_time_and_other_outputs_are_left_out() -> None:
    [out] = messages({"output_type": "stream", "name": "stdout", "text": "a"})
    assert (out["type"], out["text"], out["timestamp"] > 1_700_000_000_000_000_000) == ("stdout", "a", True)
    assert messages({"output_type": "stream", "name": "stderr", "text": "a"})[0]["type"] == "stderr"
    assert messages({"output_type": "clear_output"}) == []
    assert json.loads(line({"a": "\u2028\n"})) == {"a": "\u2028\n"}
    assert line({"a": "\u2028\n"}).count(b"\n") == 1
