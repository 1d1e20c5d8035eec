"""What goes in and out."""

import pytest
from pydantic import ValidationError

from sandbox_server.features.control.wire import GiveControl, WantControl


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({}, ["cdp", "gui", "shell"]),
        ({"scope": "all"}, ["cdp", "gui", "shell"]),
        ({"scope": ["all", "gui"]}, ["cdp", "gui", "shell"]),
        ({"scope": "gui"}, ["gui"]),
        ({"scope": ["shell", "gui"]}, ["shell", "gui"]),
    ],
)
def test_a_scope_is_a_word_or_a_list_or_all(given: dict[str, object], meant: list[str]) -> None:
    assert WantControl.model_validate(given).scope == meant


@pytest.mark.parametrize("scope", ["everything", [], ["gui", "x"], 3])
def test_an_unknown_scope_is_refused(scope: object) -> None:
    with pytest.raises(ValidationError):
        WantControl.model_validate({"scope": scope})


def test_control_is_given_to_somebody() -> None:
    with pytest.raises(ValidationError):
        GiveControl.model_validate({"to": ""})
