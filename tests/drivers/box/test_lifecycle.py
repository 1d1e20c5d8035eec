import json
import os

from tests.boxes import BoxDaemons
from tests.patience import until


def test_the_status_tells_what_runs(box: BoxDaemons) -> None:
    sock, _ = box.start_process("exec sleep 600")
    with sock:
        status = box.ask("status")
    assert (status["running"], status["frozen"], status["made"], status["processes"]) == (True, False, 1, 1)


def test_replacing_keeps_the_files_and_ends_the_processes(box: BoxDaemons) -> None:
    box.out("touch /home/gem/kept")
    sock, started = box.start_process("exec sleep 600")
    with sock:
        until(lambda: "sleep" in box.out(f"cat /proc/{started['pid']}/comm"))
        assert [one["command"] for one in box.ask("replace")["stopped"]] == ["sleep 600"]
    assert box.out("ls /home/gem/kept") == "/home/gem/kept"


def test_a_failed_restore_leaves_a_box_that_works(box: BoxDaemons) -> None:
    assert box.answer("restore", checkpoint="0badcafe", who="me")["refused"] == "not_found"
    assert box.out("echo here") == "here"


def test_the_record_names_the_box_for_the_next_daemon(box: BoxDaemons) -> None:
    assert box.ask("status")["running"]
    record = json.loads(box.record.read_text())
    assert record["init"] == box.init
    assert record["parts"][0][0] == "/"


def test_a_record_whose_process_number_went_to_another_is_not_believed(box: BoxDaemons) -> None:
    assert box.ask("status")["running"]
    box.end_spawner()
    box.end_box_daemon()
    first = box.init
    record = json.loads(box.record.read_text())
    box.record.write_text(json.dumps(record | {"start": record["start"] + 1}))
    box.start_box_daemon()
    assert box.ask("status")["running"]
    assert box.init != first
    box.kill(first)  # nobody else knows of it any more


def test_a_checkpoint_only_of_changes_leaves_an_unchanged_box_alone(box: BoxDaemons) -> None:
    asked = {"label": "x", "who": "me", "why": "before_risk", "if_changed": True}
    assert box.ask("checkpoint", **asked)["unchanged"]
    assert box.ask("status")["made"] == 1
    box.out("touch /home/gem/new")
    assert box.ask("checkpoint", **asked)["checkpoint"]["why"] == "before_risk"
    assert box.ask("status")["made"] == 2


def test_a_restore_to_what_no_box_runs_on_says_so_and_everything_is_as_it_was(box: BoxDaemons) -> None:
    box.out("touch /home/gem/first")
    bad = box.ask("checkpoint", label="bad", who="me")["checkpoint"]["id"]
    box.out("touch /home/gem/second")
    good = box.ask("checkpoint", label="good", who="me")["checkpoint"]["id"]
    box.out("touch /home/gem/unsaved")
    os.rename(box.store / "l" / bad / "home", box.store / "l" / bad / "kept")
    os.symlink("x" * 100, box.store / "l" / bad / "home")
    os.rename(box.store / "root", box.store / "hidden-root")
    answer = box.answer("restore", checkpoint=bad, who="me", keep=False)
    os.rename(box.store / "hidden-root", box.store / "root")
    assert answer["refused"] in ("conflict", "unavailable")
    assert box.ask("list")["head"] == good
    box.ask("replace")
    assert box.out("ls /home/gem/unsaved /home/gem/second").split() == ["/home/gem/second", "/home/gem/unsaved"]


def test_a_checkpoint_whose_files_or_whose_chain_are_damaged_is_refused_before_anything_ends(box: BoxDaemons) -> None:
    ids = [box.ask("checkpoint", label=str(number), who="me")["checkpoint"]["id"] for number in range(3)]
    ring = box.store / "about" / f"{ids[0]}.json"
    record = json.loads(ring.read_text())
    ring.write_text(json.dumps(record | {"parent": ids[2]}))
    made = box.ask("status")["made"]
    assert box.answer("restore", checkpoint=ids[1], who="me")["refused"] == "resource_exhausted"
    ring.write_text("[" * 100_000)
    assert box.answer("restore", checkpoint=ids[1], who="me")["refused"] == "conflict"
    ring.write_text(json.dumps(record | {"label": 7}))
    assert [one["id"] for one in box.ask("list")["checkpoints"]] == ids[1:]
    ring.write_text(json.dumps(record))
    os.rename(box.store / "l" / ids[0], box.store / "l" / "away")
    assert box.answer("restore", checkpoint=ids[1], who="me")["refused"] == "conflict"
    assert box.ask("status")["made"] == made
    assert box.out("echo here") == "here"
