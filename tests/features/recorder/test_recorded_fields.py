"""Which fields are written down."""

import pytest

from sandbox_server.app import build
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.browser.gui_actions import ClickAction
from sandbox_server.features.recorder.recorded_fields import kind_of, recorded_fields_of
from sandbox_server.settings import load


@pytest.fixture(scope="module")
def known() -> dict[str, Operation]:
    return {each.name: each for each in build(load({})).operations}


def facts(called: Operation, **fields: object) -> dict[str, object]:
    assert called.spec.request
    return recorded_fields_of(called.spec.request.model_validate(fields), Redaction())


def test_a_command_is_kept_without_its_secrets_and_what_is_typed_is_counted(known: dict[str, Operation]) -> None:
    assert facts(known["shell.exec_command"], command="login --token abcdefgh")["command"] == "login --token ***"
    assert facts(known["shell.write_to_process"], id="s", input="hunter2", press_enter=True) == {"id": "s", "input_length": 7}
    written = facts(known["file.write_file"], file="/a", content="hunter2")
    assert (written["file"], written["content_length"]) == ("/a", 7)
    assert "hunter2" not in str(written)


def test_no_value_of_a_field_that_is_not_named_is_kept(known: dict[str, Operation]) -> None:
    found = facts(known["bash.exec"], command="true", env={"TOKEN": "hunter2"})
    assert "hunter2" not in str(found)
    assert "env" not in found


def test_a_forms_values_are_not_kept(known: dict[str, Operation]) -> None:
    found = facts(known["browser-page.fill"], selector="#password", text="hunter2")
    assert (found["selector"], found["text_length"]) == ("#password", 7)
    assert "hunter2" not in str(found)


def test_what_the_mouse_did_is_kept(known: dict[str, Operation]) -> None:
    clicked = {"action_type": "CLICK", "x": 5.0, "y": 6.0}
    assert facts(known["browser.execute_action"], **clicked).items() >= clicked.items()
    batch = facts(known["browser.execute_actions"], actions=[ClickAction(x=5, y=6), {"action_type": "TYPING", "text": "hunter2"}])
    assert "hunter2" not in str(batch)
    assert str(batch).count("action_type") == 2


def test_calls_are_sorted_by_what_they_do(known: dict[str, Operation]) -> None:
    kinds = {
        "shell.exec_command": "command",
        "file.write_file": "file",
        "file.read_file": "read",
        "browser.execute_action": "input",
        "browser-page.navigate": "input",
        "checkpoints.create_checkpoint": "checkpoint",
        "control.take_control": "call",
        "ports.share_port": "access",
        "auth.create_ticket": "access",
        "shell.terminal": "call",
    }
    assert {name: kind_of(known[name]) for name in kinds} == kinds


def test_what_a_link_opens_is_kept_and_for_how_long(known: dict[str, Operation]) -> None:
    invited = facts(known["auth.create_ticket"], actor="person", scopes=["view"], ttl=600.0, uses=2)
    assert invited == {"actor": "person", "scopes": ["view"], "ttl": 600.0, "uses": 2}
    assert facts(known["ports.share_port"], port=3000)["port"] == 3000
