import time
from contextlib import suppress
from pathlib import Path

from sandbox_server.drivers.box.processes import read_start
from tests.boxes import BoxDaemons
from tests.patience import until

BOMB = "bomb() { bomb | bomb & }; while :; do bomb; done 2>/dev/null"
BOUND_SECONDS = 10.0
"""Of what takes three at most on a machine that does nothing else."""
COUNT = "i=0; while :; do i=$((i+1)); echo $i > /home/gem/count; done"


def ticks(box: BoxDaemons) -> int:
    return sum(int(line.split()[13]) + int(line.split()[14]) for line in box_stats(box))


def box_stats(box: BoxDaemons) -> list[str]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has just ended
            numbers = [line.split() for line in status.read_text().splitlines() if line.startswith("NSpid:")]
            if numbers and len(numbers[0]) > 2:
                found.append((status.parent / "stat").read_text())
    return found


def states(box: BoxDaemons) -> set[str]:
    return {line.rpartition(")")[2].split()[0] for line in box_stats(box)}


def test_a_frozen_box_uses_no_processor_and_goes_on_where_it_was(box: BoxDaemons) -> None:
    sock, _ = box.start_process(COUNT)
    with sock:
        until(lambda: ticks(box) > 3)
        box.ask("freeze")
        until(lambda: states(box) <= {"T", "S", "Z"})  # the box's first process sleeps; what waits for the disk stops after that
        stopped = ticks(box)
        assert ticks(box) == stopped
        assert box.ask("status")["frozen"]
        box.ask("thaw")
        until(lambda: ticks(box) > stopped + 3)


def test_an_interactive_shell_does_not_take_it_for_a_suspended_job(box: BoxDaemons) -> None:
    script = "script -qfc 'bash --norc -i -c \"set -m; sleep 1.5; echo ended\"' /home/gem/typescript"
    sock, _ = box.start_process(script)
    with sock:
        until(lambda: "sleep" in " ".join(line.split()[1] for line in box_stats(box)))
        for _ in range(5):
            box.ask("freeze")
            box.ask("thaw")
        until(lambda: "ended" in box.out("cat /home/gem/typescript"))
    assert "Stopped" not in box.out("cat /home/gem/typescript")


def test_what_was_stopped_before_stays_stopped(box: BoxDaemons) -> None:
    sock, started = box.start_process("kill -STOP $$")
    with sock:
        until(lambda: "T (stopped)" in box.out(f"grep State /proc/{started['pid']}/status"))
        box.ask("freeze")
        box.ask("thaw")
        assert "T (stopped)" in box.out(f"grep State /proc/{started['pid']}/status")


def test_what_forks_without_end_stands_still_as_a_whole_in_seconds_and_goes_on(box: BoxDaemons) -> None:
    sock, _ = box.start_process(BOMB, "agent")
    with sock:
        until(lambda: len(box_stats(box)) > 500)
        began = time.monotonic()
        box.ask("freeze")
        assert time.monotonic() - began < BOUND_SECONDS
        until(lambda: states(box) <= {"T", "S", "Z"})
        stopped = ticks(box)
        assert ticks(box) == stopped
        box.ask("thaw")
        until(lambda: "R" in states(box))
        box.ask("replace")


def test_a_daemon_that_comes_after_a_frozen_one_lets_the_box_go_on(box: BoxDaemons) -> None:
    sock, _ = box.start_process(COUNT)
    with sock:
        box.ask("freeze")
        box.end_box_daemon()
        box.start_box_daemon()
        before = ticks(box)
        until(lambda: ticks(box) > before + 3)


def test_no_more_is_read_of_a_process_s_own_memory_than_is_looked_at(tmp_path: Path) -> None:
    with (tmp_path / "environ").open("wb") as file:
        file.write(b"A=b\0")
        file.truncate(1 << 40)  # so large it may say that its environment is
    assert read_start(str(tmp_path / "environ"), 100_000) == b"A=b\0" + b"\0" * 99_996
    assert read_start("/proc/self/cmdline", 4) == Path("/proc/self/cmdline").read_bytes()[:4]


def test_a_name_with_line_ends_says_nothing_of_the_process(box: BoxDaemons) -> None:
    code = "import ctypes,time; ctypes.CDLL(None).prctl(15, b'x\\x0cNSpid:\\x0b9', 0, 0, 0); time.sleep(600)"
    sock, started = box.start_process(f'exec python3 -c "{code}"')
    with sock:
        assert started["pid"]
        assert box.ask("status")["processes"] == 1
