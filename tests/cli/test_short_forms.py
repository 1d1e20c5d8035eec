"""Short forms: the calls that they make, and what is written."""

import http.client
import json
from collections.abc import Mapping
from typing import Any

import pytest

from sandbox_server.cli.__main__ import DOCUMENT
from sandbox_server.cli.document import read_operations
from sandbox_server.cli.short_forms import ABOUT, FORMS, ShortForms
from sandbox_server.cli.stop import Stop
from tests.cli.test_output import answer, response

OPERATIONS = read_operations(json.loads(DOCUMENT.read_text("utf-8")))
KEPT = {"id": "c1", "label": "before", "created": 1795355993.0, "files": 2, "bytes": 9}


class Answers:
    """An API that gives the answers that it was given, and notes what it was asked."""

    def __init__(self, *answers: http.client.HTTPResponse) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Any]] = []

    def send(self, verb: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
        """Note a request, and give the next answer."""
        assert headers
        self.asked.append((verb, path, json.loads(body) if body else None))
        return self.answers.pop(0)


def run(form: str, *words: str, api: Answers, human: bool = True) -> None:
    ShortForms(api, OPERATIONS, human).run(form, list(words))  # type: ignore[arg-type] # it answers as the API does


def events(*written: tuple[str, dict[str, Any]]) -> http.client.HTTPResponse:
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in written)
    return response(text.encode(), "text/event-stream")


def test_a_command_is_run_and_its_streams_go_where_they_belong(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = {"stream": "stdout", "data": "a\n"}, {"stream": "stderr", "data": "b\n"}
    api = Answers(events(("output", out), ("output", err), ("exit", {"exit_code": 0})))
    run("exec", "ls", "-la", "a b", api=api)

    assert api.asked == [("POST", "/v1/bash/exec", {"command": "ls -la 'a b'"})]
    assert capsys.readouterr() == ("a\n", "b\n")


def test_one_word_is_a_line_of_shell_and_its_exit_code_is_the_end() -> None:
    api = Answers(events(("exit", {"exit_code": 7})))
    with pytest.raises(Stop) as stopped:
        run("exec", "false | exit 7", api=api)

    assert api.asked[0][2] == {"command": "false | exit 7"}
    assert (stopped.value.code, stopped.value.sentence) == (7, "")


@pytest.mark.parametrize("said", [[("exit", {"exit_code": None})], []], ids=["killed", "broken off"])
def test_a_command_whose_end_nobody_saw_is_no_success(said: list[tuple[str, dict[str, Any]]]) -> None:
    with pytest.raises(Stop) as stopped:
        run("exec", "true", api=Answers(events(*said)))
    assert stopped.value.code == 1


def test_what_the_api_says_of_an_error_is_said() -> None:
    with pytest.raises(Stop) as stopped:
        run("exec", "true", api=Answers(events(("error", {"message": "a person drives", "hint": "wait"}))))
    assert (stopped.value.code, stopped.value.sentence) == (1, "a person drives\nwait")


def test_a_question_waits_and_words_behind_it_are_choices(capsys: pytest.CaptureFixture[str]) -> None:
    api = Answers(answer({"outcome": "done", "choice": "yearly"}), answer({"outcome": "done"}))
    run("ask", "Which plan?", "monthly", "yearly", api=api)
    run("ask", "May I?", api=api)

    choosing = {"reason": "Which plan?", "wait": 3600, "kind": "choice", "choices": ["monthly", "yearly"]}
    assert [body for _, _, body in api.asked] == [choosing, {"reason": "May I?", "wait": 3600}]
    shown = capsys.readouterr()
    assert "choice: yearly" in shown.out
    assert "waiting for a person" in shown.err


ALLOWED = {"host": "api.example", "port": 443, "status": "allowed", "rule": "approval g1", "until": 1795355993.0, "why": ""}


@pytest.mark.parametrize(
    ("place", "asked"),
    [
        ("api.example", {"host": "api.example"}),
        ("api.example:8443", {"host": "api.example", "port": 8443}),
        ("2001:db8::1", {"host": "2001:db8::1"}),
        ("[2001:db8::1]:22", {"host": "2001:db8::1", "port": 22}),
    ],
)
def test_access_is_asked_for_and_the_answer_is_said(capsys: pytest.CaptureFixture[str], place: str, asked: dict[str, Any]) -> None:
    api = Answers(answer(ALLOWED))
    run("access", place, "for", "the task", api=api)
    assert api.asked == [("POST", "/v1/egress/requests", {**asked, "reason": "for the task", "wait": 600})]
    shown = capsys.readouterr()
    assert shown.out.startswith("api.example:443 is allowed until 20")
    assert shown.out.endswith("by rule approval g1\n")
    assert "waiting for a person" in shown.err


def test_access_that_is_denied_is_a_failure_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    denied = {**ALLOWED, "status": "denied", "rule": None, "until": None, "why": "not today"}
    with pytest.raises(Stop) as stopped:
        run("access", "api.example", "please", api=Answers(answer(denied)))
    assert stopped.value.code == 1
    assert capsys.readouterr().out == "api.example:443: denied: not today\n"


@pytest.mark.parametrize("words", [[], ["api.example"], ["api.example", " "]])
def test_access_without_a_reason_is_not_asked_for(words: list[str]) -> None:
    with pytest.raises(Stop) as stopped:
        run("access", *words, api=Answers())
    assert stopped.value.sentence == "usage: sandbox access HOST[:PORT] REASON..."


def test_a_checkpoint_is_made_with_a_label() -> None:
    api = Answers(answer({"checkpoint": KEPT}))
    run("checkpoint", "before", "the", "upgrade", api=api)
    assert api.asked == [("POST", "/v1/checkpoints", {"label": "before the upgrade"})]


def test_undo_goes_back_to_the_last_checkpoint_and_says_to_which(capsys: pytest.CaptureFixture[str]) -> None:
    api = Answers(answer({"head": "c1", "checkpoints": [KEPT]}), answer({"head": "c1", "stopped": []}))
    run("undo", api=api)

    assert [asked[:2] for asked in api.asked] == [("GET", "/v1/checkpoints"), ("POST", "/v1/checkpoints/c1/restore")]
    assert "going back to c1 'before' of 20" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"), [([], "there is no checkpoint yet; make one with `sandbox checkpoint`"), (["c9"], "there is no checkpoint c9")]
)
def test_without_a_checkpoint_nothing_is_restored(words: list[str], reason: str) -> None:
    with pytest.raises(Stop) as stopped:
        run("undo", *words, api=Answers(answer({"head": None, "checkpoints": []})))
    assert stopped.value.sentence == reason


def test_the_doctor_answers_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    run("doctor", api=Answers(answer({"lost": [], "checks": []})), human=False)
    assert json.loads(capsys.readouterr().out) == {"lost": [], "checks": []}


@pytest.mark.parametrize("form", FORMS)
def test_each_says_how_it_is_written(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(form, "--help", api=Answers())
    assert capsys.readouterr().out.startswith(f"usage: sandbox {form}")
    assert form in ABOUT


@pytest.mark.parametrize("form", ["exec", "ask"])
def test_one_that_needs_words_says_so(form: str) -> None:
    with pytest.raises(Stop) as stopped:
        run(form, api=Answers())
    assert stopped.value.code == 2
