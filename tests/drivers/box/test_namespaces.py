"""Each in a process of its own: nobody comes back from a namespace."""

import subprocess
import sys

import pytest

from tests.boxes import ROOT

HEAD = "import os\nfrom pathlib import Path\nfrom sandbox_server.drivers.box import namespaces as n\n"


def said(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + script], env={"PYTHONPATH": ROOT}, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_leaving_the_user_namespace_keeps_the_ids_and_gives_every_capability_there() -> None:
    script = """
n.leave_user_namespace()
os.unshare(os.CLONE_NEWNS)
n.keep_mounts_private()
n.mount("x", "/mnt", "tmpfs")
print(os.getuid(), os.stat("/etc/passwd").st_uid, os.listdir("/mnt"))
"""
    assert said(script) == "0 0 []"


def test_where_no_user_namespace_may_be_made_nobody_waits_for_one() -> None:
    script = """
def refuse(flags):
    raise PermissionError(1, "refused")

os.unshare = refuse
try:
    n.leave_user_namespace()
except PermissionError as error:
    print(error.strerror)
"""
    assert said(script) == "refused"


def test_nothing_is_left_of_the_rights_over_the_namespace_that_was_left() -> None:
    script = """
n.leave_user_namespace()
try:
    n.mount("x", "/mnt", "tmpfs")
except PermissionError as error:
    print(error.filename)
"""
    assert said(script) == "/mnt"


def test_a_frozen_mount_cannot_be_written_to() -> None:
    script = """
n.leave_user_namespace()
os.unshare(os.CLONE_NEWNS)
n.keep_mounts_private()
n.mount("x", "/mnt", "tmpfs")
Path("/mnt/a").write_text("a")
n.freeze_mount(None, "/mnt")
try:
    Path("/mnt/b").write_text("b")
except OSError as error:
    print(error.errno, Path("/mnt/a").read_text())
"""
    assert said(script) == "30 a"


def test_the_owner_of_a_namespace_is_the_user_namespace_it_was_made_in() -> None:
    script = """
n.leave_user_namespace()
os.unshare(os.CLONE_NEWNS)
fd = n.owner(os.open("/proc/self/ns/mnt", os.O_RDONLY))
print(os.path.samestat(os.fstat(fd), os.stat("/proc/self/ns/user")))
"""
    assert said(script) == "True"


@pytest.mark.parametrize(("forbidden", "seen"), [(True, "refused"), (False, "read")])
def test_tracing_is_forbidden_to_everybody_without_rights_over_the_container(forbidden: bool, seen: str) -> None:
    script = f"""
os.setuid(1)
n.forbid_tracing(forbidden={forbidden})
pid = os.getpid()
if os.fork() == 0:
    os.setuid(1)
    os.setuid(1)
    try:
        open(f"/proc/{{pid}}/environ").read()
        print("read", flush=True)
    except PermissionError:
        print("refused", flush=True)
    os._exit(0)
os.wait()
"""
    assert said(script) == seen


def test_a_process_ends_with_the_one_that_forked_it() -> None:
    script = """
import signal, time
parts = os.pipe()
middle = os.fork()
if middle == 0:
    own = os.getpid()
    if os.fork() == 0:
        n.end_with(own)
        os.write(parts[1], b"x")
        time.sleep(60)
    time.sleep(60)
os.close(parts[1])
os.read(parts[0], 1)
os.kill(middle, signal.SIGKILL)
print(os.read(parts[0], 1))  # nobody holds the other end any more
"""
    assert said(script) == "b''"


def test_a_process_shows_other_arguments_than_it_was_started_with() -> None:
    script = """
n.replace_arguments("spare")
print(Path("/proc/self/cmdline").read_bytes().strip(b"\\0").decode())
n.replace_arguments("x" * 100_000)
print(len(Path("/proc/self/cmdline").read_bytes().strip(b"\\0")) < 100_000)
"""
    assert said(script).split() == ["spare", "True"]


def test_where_the_kernel_does_not_say_where_they_are_they_stay() -> None:
    script = """
import io
n.open = lambda *_: io.BytesIO(b"1 (python3) R " + b"0 " * 60)
before = Path("/proc/self/cmdline").read_bytes()
n.replace_arguments("spare")
print(Path("/proc/self/cmdline").read_bytes() == before)
"""
    assert said(script) == "True"


def test_whoever_gave_up_its_capabilities_in_a_namespace_of_its_own_has_none() -> None:
    script = """
n.leave_user_namespace()
n.drop_capabilities()
print(sorted(set(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(("CapPrm", "CapEff")))))
"""
    assert said(script) == "['0000000000000000']"
