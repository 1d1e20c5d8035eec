"""What runs in sessions, as the daemon tells it."""

from typing import Any

from sandbox_server.drivers.box.running_programs import MAX_WORD
from tests.boxes import BoxDaemons
from tests.patience import until


def told(box: BoxDaemons) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = box.ask("programs")["programs"]
    return found


def test_a_program_of_a_session_is_told_with_where_and_as_whom_it_runs(box: BoxDaemons) -> None:
    sock, _ = box.start_process("cd /usr; exec bash -c 'sleep 86399; :' 'two words'", "agent", "bash:s1")
    with sock:
        until(lambda: [each for each in told(box) if each["argv"][-1] == "two words"])
        [found] = told(box)
    assert found == {
        "argv": ["bash", "-c", "sleep 86399; :", "two words"],
        "directory": "/usr",
        "uid": 1000,
        "session": "bash:s1",
        "whole": True,
    }


def test_children_of_one_that_is_told_and_what_no_session_started_are_not(box: BoxDaemons) -> None:
    first, _ = box.start_process("sleep 86398 & wait", "agent", "shell:s2")
    second, _ = box.start_process("exec sleep 86397", "agent")
    with first, second:
        until(lambda: "86398" in box.out("ps -e -o args"))
        until(lambda: "86397" in box.out("ps -e -o args"))
        found = told(box)
    assert [each["session"] for each in found] == ["shell:s2"]
    assert "86398" not in found[0]["argv"]


def test_words_that_are_too_many_too_long_or_no_text_are_not_whole(box: BoxDaemons) -> None:
    script = f"exec -a \"$(printf '\\377')\" sleep 86396 & exec -a $(printf 'x%.0s' $(seq {MAX_WORD + 1})) sleep 86396 & wait"
    sock, _ = box.start_process(f"trap '' TERM; {script}", "agent", "bash:s3")
    with sock:
        until(lambda: box.out("pgrep -xc sleep || true") == "2")
        box.out("kill -KILL $(pgrep -fo 'trap')", "root")  # then each is told by itself
        until(lambda: [each["whole"] for each in told(box)] == [False, False])
        assert max(len(each["argv"][0]) for each in told(box)) == MAX_WORD
        box.out("pkill -KILL sleep", "root")
