"""The agent's programs in a real box, stopped and let go on."""

import signal
from pwd import getpwnam

from sandbox_server.drivers.box import processes
from tests.boxes import BoxDaemons
from tests.patience import until

COUNT = "while :; do echo x >> /home/gem/log; sleep 0.01; done"


def lines(box: BoxDaemons) -> int:
    return int(box.out("wc -l < /home/gem/log"))


def started(box: BoxDaemons) -> None:
    until(lambda: box.run("test -s /home/gem/log")[1] == {"exit": 0})


def stands(box: BoxDaemons) -> bool:
    before = lines(box)
    box.out("sleep 0.2")
    return lines(box) == before


def test_what_runs_stands_still_what_is_started_later_runs_and_all_goes_on(box: BoxDaemons) -> None:
    sock, _ = box.start_process(COUNT)
    with sock:
        started(box)
        told = box.ask("pause_programs")
        assert told["paused"]
        assert told["count"] >= 1
        assert "bash" in told["names"]
        assert stands(box), "and the command that looks runs"
        assert box.ask("status")["programs"]["paused"]
        box.ask("resume_programs")
        until(lambda: not stands(box))
    assert box.ask("status")["programs"] == {"paused": False, "count": 0, "names": []}


def test_a_suspension_meanwhile_wakes_nothing_that_is_paused(box: BoxDaemons) -> None:
    sock, _ = box.start_process(COUNT)
    with sock:
        started(box)
        box.ask("pause_programs")
        box.ask("freeze")
        box.ask("thaw")
        assert stands(box)
        box.ask("freeze")
        box.ask("resume_programs")
        box.ask("thaw")
        until(lambda: not stands(box))


def test_what_is_paused_while_it_is_suspended_stands_still_afterwards(box: BoxDaemons) -> None:
    sock, _ = box.start_process(COUNT)
    with sock:
        started(box)
        box.ask("freeze")
        assert box.ask("pause_programs")["count"] >= 1
        box.ask("thaw")
        assert stands(box)
        box.ask("resume_programs")
        until(lambda: not stands(box))


def test_what_was_started_last_is_named_first_however_much_there_is_of_the_rest(box: BoxDaemons) -> None:
    many, _ = box.start_process("for _ in 1 2 3 4 5; do sleep 60 & done; wait")
    with many:
        until(lambda: sum(one.name == "sleep" for one in processes.inmates()) == 5)
        last, _ = box.start_process("exec tail -f /dev/null")
        with last:
            until(lambda: any(one.name == "tail" for one in processes.inmates()))
            assert box.ask("pause_programs")["names"][:2] == ["tail", "sleep"]


def test_a_checkpoint_meanwhile_wakes_nothing(box: BoxDaemons) -> None:
    sock, _ = box.start_process(COUNT)
    with sock:
        started(box)
        box.ask("pause_programs")
        box.ask("checkpoint", label="", who="me", mode="live")
        assert stands(box)


def test_the_next_daemon_keeps_the_pause(box: BoxDaemons) -> None:
    sock, _ = box.start_process(COUNT)
    with sock:
        started(box)
        box.ask("pause_programs")
        box.end_box_daemon(signal.SIGKILL)
        box.start_box_daemon()
        assert box.ask("status")["programs"]["paused"]
        assert stands(box)
        box.ask("resume_programs")
        until(lambda: not stands(box))


def test_a_program_that_calls_itself_like_one_of_the_sandbox_s_own_stands_still_too(box: BoxDaemons) -> None:
    sock, _ = box.start_process(f"exec -a 'warm process' bash -c '{COUNT}'", "agent")
    with sock:
        started(box)
        box.ask("pause_programs")
        assert stands(box)


def test_a_new_box_knows_of_no_pause(box: BoxDaemons) -> None:
    box.ask("pause_programs")
    box.ask("replace")
    assert not box.ask("status")["programs"]["paused"]


def test_a_program_that_forks_without_end_stands_still_too_and_the_desktop_goes_on(box: BoxDaemons) -> None:
    desktop, _ = box.start_process("while :; do date +%N > /tmp/desktop; sleep 0.01; done", "desktop")
    bomb, _ = box.start_process("bomb() { bomb | bomb & }; while :; do bomb; done 2>/dev/null", "agent")
    with desktop, bomb:
        until(lambda: box.ask("status")["processes"] > 500)
        told = box.ask("pause_programs")
        assert told["count"] > 300
        assert told["names"][0] == "bash"
        assert {one.state for one in processes.inmates() if one.uid == getpwnam("gem").pw_uid} <= {"T", "Z"}
        assert {one.state for one in processes.inmates() if one.uid == getpwnam("desktop").pw_uid} & {"S", "R"}
        box.ask("replace")
