import subprocess

import pytest

from sandbox_server.drivers.box.attribution import LARGE_BYTES, AttributedProcess, EndedProcess, ProcessUse, UsageAttribution, bytes_written
from tests.boxes import BoxDaemons
from tests.patience import until

ME = AttributedProcess("bash:me", "cat /dev/zero", 7, 1000)


def ended(culprit: AttributedProcess, use: ProcessUse, *, killed: bool = False) -> EndedProcess:
    return EndedProcess(culprit, use, killed=killed)


def looked() -> UsageAttribution:
    attribution = UsageAttribution()
    attribution.look()
    return attribution


def most_processes() -> tuple[str | None, str] | None:
    """The session that has most processes now, and what they run."""
    found = looked().worst("threads")
    return (found.session, found.command) if found else None


def test_whoever_has_most_processes_is_named_with_its_session(box: BoxDaemons) -> None:
    quiet, _ = box.start_process("sleep 600; true", session="shell:quiet")
    loud, _ = box.start_process("for _ in {1..30}; do sleep 601 & done; wait", "agent", session="bash:loud")
    with quiet, loud:
        until(lambda: most_processes() == ("bash:loud", "sleep 601"))  # each is a shell at first
        found = looked().worst("threads")
    assert found is not None
    assert (found.session, found.command, found.uid) == ("bash:loud", "sleep 601", 1000)


def test_what_hides_its_environment_is_known_by_those_it_was_started_with(box: BoxDaemons) -> None:
    sock, _ = box.start_process("for _ in {1..30}; do env -i sleep 602 & done; wait", session="bash:hidden")
    with sock:
        until(lambda: most_processes() == ("bash:hidden", "sleep 602"))


def test_nobody_is_named_where_nobody_uses_much(box: BoxDaemons) -> None:
    sock, _ = box.start_process("exec sleep 600", session="bash:calm")
    with sock:
        until(lambda: looked().total.threads)
        attribution = looked()
        attribution.look()
        assert [attribution.worst(what) for what in ("threads", "memory", "descriptors", "written", "system")] == [None] * 5


def test_a_session_is_suspected_of_the_kernel_s_time_before_what_no_session_started(box: BoxDaemons) -> None:
    busy = "while :; do head -c 10000000 /dev/zero >/dev/null; done"
    desktop, _ = box.start_process(f"{busy} & {busy} & {busy}")
    session, _ = box.start_process(busy, session="bash:busy")
    with desktop, session:  # a new look counts from the start of a process
        until(lambda: (found := looked().worst("system")) is not None and found.session == "bash:busy")


@pytest.mark.parametrize(
    ("what", "use"), [("written", ProcessUse(written=1 << 30)), ("memory", ProcessUse(memory=1 << 40)), ("system", ProcessUse(system=9.0))]
)
def test_a_command_that_has_just_ended_is_named(what: str, use: ProcessUse) -> None:
    attribution = UsageAttribution()
    attribution.note(ended(ME, use))
    assert attribution.worst(what) == ME


def test_a_command_that_ended_long_ago_is_not_to_blame() -> None:
    attribution = UsageAttribution()
    attribution.note(EndedProcess(ME, ProcessUse(written=1 << 30), killed=False, at=0.0))
    assert attribution.worst("written") is None


def test_those_that_were_killed_are_told_once() -> None:
    attribution = UsageAttribution()
    attribution.note(ended(ME, ProcessUse(), killed=True))
    attribution.note(ended(ME, ProcessUse()))
    assert [one.culprit for one in attribution.killed()] == [ME]
    assert attribution.killed() == []


def test_a_large_process_that_is_gone_is_remembered(box: BoxDaemons) -> None:
    hog = f"exec python3 -c 'x = bytearray({LARGE_BYTES * 2}); input()'"
    sock, _ = box.start_process(f"sleep 600 | {hog}", session="bash:hog")
    attribution = UsageAttribution()
    with sock:

        def memory() -> int:
            attribution.look()
            return attribution.total.memory

        until(lambda: memory() > LARGE_BYTES * 2)  # it alone is large then, however far it had come
        assert attribution.end_largest().startswith("python3")
        until(lambda: memory() < LARGE_BYTES)
        found = attribution.worst("memory")
    assert (found and found.session) == "bash:hog"


def test_what_a_process_wrote_is_counted_with_its_children() -> None:
    with subprocess.Popen(
        ["sh", "-c", "head -c 3000000 /dev/zero >/dev/null; echo; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert bytes_written(process.pid) >= 3_000_000
        process.communicate(b"\n")
    assert bytes_written(process.pid) == 0
