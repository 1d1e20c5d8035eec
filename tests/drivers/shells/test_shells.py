"""Shells in a real tmux: what they say of themselves, and how they are given commands, signals and an end."""

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.shells.commands import CommandFile, Recall, ShellCommand, ShellStatus
from sandbox_server.drivers.shells.shell_integration import Mark
from sandbox_server.drivers.shells.shells import _SIGNAL, BASHRC, LiveShell, ShellStart, TmuxShells
from sandbox_server.drivers.shells.terminal_screen import TerminalScreen
from sandbox_server.drivers.shells.tmux import Tmux
from sandbox_server.drivers.spawn.process import LOST, Exit, Processes
from tests.drivers.shells.ear import Ear
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio

SECONDS = 30
LEADER = """
import signal, subprocess
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
for seconds in ("600", "601"):
    print(subprocess.Popen(["sleep", seconds], process_group=0).pid, flush=True)
while True:
    signal.pause()
"""
"""The first process of a session without a terminal, and two groups in it."""


@pytest.fixture
def shells(processes: Processes, files: Files, tmux: Tmux, terminals: Path) -> TmuxShells:
    return TmuxShells(processes, files, tmux, str(terminals))


async def ready(shells: TmuxShells, ear: Ear, directory: str = "/") -> LiveShell:
    """Open a shell that is at its prompt."""
    shell = await shells.open(ear, ShellStart(directory))
    await ear.mark("ready")
    return shell


async def run(shell: LiveShell, ear: Ear, text: str, directory: str = "") -> Mark:
    """Run a command at the prompt and give its end."""
    await shell.run(ShellCommand("t1", text, directory))
    end = await ear.mark("end", "t1")
    await ear.mark("ready")
    return end


def gate(home: Path) -> Path:
    """A pipe that holds up who reads it until something is written."""
    fifo = home / "go"
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    return fifo


async def test_a_command_is_told_from_its_start_to_the_next_prompt(shells: TmuxShells, ear: Ear, home: Path) -> None:
    shell = await ready(shells, ear)
    await shell.run(ShellCommand("t7", "echo one; (exit 3)", str(home)))
    start = await ear.mark("start")
    end = await ear.mark("end")
    prompt = await ear.mark("prompt")
    assert start.token == end.token == "t7"
    assert (end.status, end.directory) == (3, str(home))
    assert (prompt.status, prompt.directory) == (3, str(home))
    await ear.mark("ready")
    assert b"one\r\n" in ear.heard


async def test_marks_and_their_nonce_are_no_output(shells: TmuxShells, ear: Ear) -> None:
    shell = await ready(shells, ear)
    await run(shell, ear, "true")
    assert b"7133" not in ear.heard
    assert shell.key.nonce.encode() not in ear.heard


async def test_a_program_cannot_print_a_mark(shells: TmuxShells, ear: Ear) -> None:
    shell = await ready(shells, ear)
    forged = r"printf '\e]7133;%s;end;t1;0;/\a' 00000000 '' x; env | grep -c tandem_nonce; exit_with() { return 9; }; exit_with"
    end = await run(shell, ear, forged)
    assert end.status == 9
    assert b"\x1b]7133;00000000;end;t1;0;/\x07" in ear.heard
    assert b"\x070\r\n" in ear.heard  # no variable of a program's environment holds it


async def test_a_shell_starts_where_it_is_told_with_what_it_is_given(shells: TmuxShells, ear: Ear, home: Path) -> None:
    (home / "real").mkdir(mode=0o755)
    (home / "link").symlink_to("real")
    shell = await shells.open(ear, ShellStart(str(home / "link"), "keep", {"ODD": "it's; #{x}"}))
    await ear.mark("ready")
    await run(shell, ear, 'echo "<$PWD|$ODD|${TANDEM_SHELL-none}|${TMUX-none}>"')
    assert f"<{home}/link|it's; #{{x}}|none|none>".encode() in ear.heard


async def test_a_link_to_where_a_shell_starts_is_followed(shells: TmuxShells, ear: Ear, home: Path) -> None:
    (home / "real").mkdir(mode=0o755)
    (home / "link").symlink_to("real")
    await shells.open(ear, ShellStart(str(home / "link")))
    assert (await ear.mark("prompt")).directory == str(home / "real")


async def test_what_was_typed_at_the_prompt_is_dropped(shells: TmuxShells, ear: Ear) -> None:
    shell = await ready(shells, ear)
    shell.type(b"echo half a li")
    await ear.hears(b"half a li")
    await shell.run(ShellCommand("t1", "echo whole"))
    assert (await ear.mark("end", "t1")).status == 0
    assert b"whole\r\n" in ear.heard


async def test_a_line_that_is_typed_is_told_and_has_no_token(shells: TmuxShells, ear: Ear) -> None:
    shell = await ready(shells, ear)
    shell.type(b"(exit 4)\r")
    assert (await ear.mark("line")).token == ""
    assert (await ear.mark("prompt")).status == 4


async def test_a_command_that_is_withdrawn_is_not_run(shells: TmuxShells, ear: Ear, home: Path) -> None:
    fifo = gate(home)
    shell = await ready(shells, ear)
    shell.type(f"read -r line <{fifo}\r".encode())
    await ear.mark("line")
    await shell.run(ShellCommand("t1", "echo do''ne"))
    await shell.withdraw()
    fifo.write_text("go\n")
    await ear.mark("unread")
    await ear.mark("ready")
    assert b"done" not in ear.heard


async def test_a_command_whose_file_was_deleted_can_be_given_again(shells: TmuxShells, ear: Ear, terminals: Path) -> None:
    shell = await ready(shells, ear)
    (terminals / f"{shell.key.name}.command").unlink()
    command = ShellCommand("t1", "(exit 5)")
    await shell.run(command)
    await ear.mark("unread")
    await ear.mark("ready")
    await shell.run_again(command)
    assert (await ear.mark("end", "t1")).status == 5


async def test_what_was_given_and_how_it_ended_can_be_recalled(shells: TmuxShells, ear: Ear, home: Path) -> None:
    shell = await ready(shells, ear)
    await run(shell, ear, "(exit 6)", str(home))
    recall = await shell.recall()
    assert recall == Recall(ShellCommand("t1", "(exit 6)", str(home)), "t1", ShellStatus("t1", 6, str(home)))
    assert not recall.running


async def test_who_has_the_terminal_is_told(shells: TmuxShells, ear: Ear) -> None:
    shell = await ready(shells, ear)
    assert await shell.signal(None) == "shell"
    await shell.run(ShellCommand("t1", "sleep 600"))
    await ear.mark("start")
    assert await eventually(lambda: shell.signal(None), lambda reached: reached != "shell") == "group"  # the shell is about to start it


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_a_signal_reaches_what_runs_and_not_the_shell(shells: TmuxShells, ear: Ear, home: Path, number: signal.Signals) -> None:
    (home / "up").write_text("up\n")
    shell = await ready(shells, ear)
    await shell.run(ShellCommand("t1", f"tail -f {home}/up"))  # not a shell: dash forgets a SIGINT that comes while it starts a program
    await ear.mark("start")
    await ear.hears(b"\nup\r\n")
    assert await shell.signal(number) == "group"
    assert (await ear.mark("end", "t1")).status in (128 + number, 130)
    assert await shell.signal(None) == "shell"


async def test_an_interrupt_that_comes_while_the_end_of_a_command_is_told_does_not_lose_it(
    shells: TmuxShells, ear: Ear, home: Path
) -> None:
    fifo = gate(home)
    shell = await ready(shells, ear)
    once = f'__tandem_mark() {{ eval "$real"; echo he""ld >/dev/tty; read -r line <{fifo}; __tandem_mark "$1"; }}'
    await shell.run(ShellCommand("t1", f"real=$(declare -f __tandem_mark); {once}"))
    await ear.hears(b"held\r\n")
    os.kill(shell.key.pid, signal.SIGINT)
    assert (await ear.mark("end", "t1")).status == 130
    await ear.mark("ready")
    assert (await run(shell, ear, "(exit 4)")).status == 4


async def test_a_signal_to_a_shell_that_is_gone_finds_nobody(shells: TmuxShells, ear: Ear) -> None:
    shell = await ready(shells, ear)
    os.kill(shell.key.pid, signal.SIGKILL)
    assert await ear.end() == Exit(None, signal.SIGKILL)
    assert await shell.signal(signal.SIGINT) == "gone"


@pytest.mark.parametrize("size", [1, 20000])
async def test_a_shell_that_exits_is_heard_to_its_last_byte(shells: TmuxShells, ear: Ear, size: int) -> None:
    for _ in range(5):
        ear = Ear()
        shell = await ready(shells, ear)
        await shell.run(ShellCommand("t1", f"seq {size}; echo last words; exit 3"))
        assert await ear.end() == Exit(3, None)
        assert b"\r\nlast words\r\n" in ear.heard
        await shell.close()


async def test_a_shell_exits_though_nobody_listens(shells: TmuxShells, ear: Ear, tmux: Tmux) -> None:
    class Deaf(Ear):
        def output(self, data: bytes) -> None:
            """What is not heard is not answered."""

    shell = await ready(shells, ear)
    assert shell.pane
    deaf = Deaf()
    tmux.listen(shell.pane, deaf)
    shell.type(b"exit 4\r")
    assert await deaf.end() == Exit(4, None)


async def test_a_shell_is_opened_again_in_a_terminal_of_the_same_size(shells: TmuxShells, ear: Ear, terminals: Path) -> None:
    shell = await ready(shells, ear)
    await shell.resize(61, 17)
    for _ in range(5):  # what an ended shell leaves behind does not touch the next one
        await shell.run(ShellCommand("t1", "seq 3000; exit 3"))
        await ear.end()
        ear = Ear()
        again = await shells.reopen(shell, ear, ShellStart("/usr"))
        assert (await ear.mark("prompt")).directory == "/usr"
        await ear.mark("ready")
        assert again.key.nonce != shell.key.nonce
        shell = again
    assert (await run(shell, ear, "stty size; (exit 8)")).status == 8
    assert b"17 61\r\n" in ear.heard
    assert {file.name for file in terminals.glob("*.command")} == {f"{shell.key.name}.command"}


async def test_closing_a_shell_ends_it_and_leaves_no_file(shells: TmuxShells, ear: Ear, terminals: Path) -> None:
    shell = await ready(shells, ear)
    await run(shell, ear, "true")
    pid = shell.key.pid
    await shell.close()
    until(lambda: not os.path.exists(f"/proc/{pid}"))
    assert [file.name for file in terminals.iterdir()] == ["tmux.sock"]


async def test_files_that_cannot_be_deleted_do_not_keep_a_shell_open(shells: TmuxShells, ear: Ear, terminals: Path) -> None:
    shell = await ready(shells, ear)
    command = terminals / f"{shell.key.name}.command"
    command.unlink()
    command.mkdir()
    await shell.close()
    assert shell.pane
    assert shell.pane.closed


async def test_a_shell_goes_on_and_is_taken_over_with_its_command(
    shells: TmuxShells, processes: Processes, files: Files, ear: Ear, terminals: Path, home: Path
) -> None:
    shell = await ready(shells, ear, str(home))
    await shell.run(ShellCommand("t1", "read -r line; (exit 9)"))
    await ear.mark("start")
    shell.leave()
    later = Ear()
    async with Tmux(processes, str(terminals)) as tmux:
        adopted = await TmuxShells(processes, files, tmux, str(terminals)).adopt(shell.key, later)
        assert adopted
        assert adopted.key == shell.key
        assert (await adopted.recall()).running
        adopted.type(b"go\r")
        assert (await later.mark("end", "t1")).status == 9
        await later.mark("ready")
        assert (await run(adopted, later, "(exit 2)")).status == 2


async def test_a_shell_whose_terminal_is_gone_is_not_taken_over(shells: TmuxShells, ear: Ear) -> None:
    shell = await ready(shells, ear)
    key = shell.key
    await shell.close()
    assert await shells.adopt(key, Ear()) is None


async def test_a_gap_is_told_and_marks_are_understood_after_it(shells: TmuxShells, ear: Ear, terminals: Path) -> None:
    shell = await ready(shells, ear)
    subprocess.run(["tmux", "-S", str(terminals / "tmux.sock"), "detach-client", "-s", "tandem"], check=True)
    await eventually(lambda: ear.gaps == 1)
    assert (await run(shell, ear, "(exit 7)")).status == 7


async def test_half_a_mark_before_a_gap_does_not_swallow_what_comes_after(files: Files, processes: Processes, home: Path, ear: Ear) -> None:
    shell = LiveShell("x", "n0nce", CommandFile(files, str(home / "x")), ear, processes)
    shell.output(b"a\x1b]7133;n0n")
    shell.missed()
    shell.output(b"b\x1b]7133;n0nce;ready\x07")
    assert (ear.heard, ear.marks, ear.gaps) == (b"ab", [Mark("ready")], 1)


async def test_a_shell_that_is_not_open_takes_nothing(files: Files, processes: Processes, home: Path, ear: Ear) -> None:
    shell = LiveShell("x", "n0nce", CommandFile(files, str(home / "x")), ear, processes)
    with pytest.raises(Unavailable):
        shell.type(b"x")
    with pytest.raises(Unavailable):
        await shell.signal(signal.SIGINT)
    await shell.close()


async def test_a_shell_that_nobody_saw_end_is_lost(shells: TmuxShells, ear: Ear, tmux: Tmux) -> None:
    await ready(shells, ear)
    os.kill(int((await tmux.ask("display-message -p '#{pid}'"))[0]), signal.SIGKILL)
    assert await ear.end() == LOST


async def test_a_picture_does_not_begin_a_mark_that_is_taken_out_of_what_follows(shells: TmuxShells, ear: Ear, home: Path) -> None:
    shell = await ready(shells, ear)
    fifo = gate(home)
    half = f'printf "up\\e]7133;%s;" "$__tandem_nonce"; read -r line <{fifo}; printf "ready\\a"'
    await shell.run(ShellCommand("t1", half))
    await ear.hears(b"\nup")
    taken: list[TerminalScreen] = []
    picture = await shell.capture(taken.append)
    assert (b"\x1b]7133" in picture.restore(), taken) == (False, [picture])
    fifo.write_text("go\n")
    await ear.mark("end", "t1")


def test_where_dev_tty_cannot_be_opened_the_shell_finds_its_terminal(tmp_path: Path) -> None:
    (tmp_path / "s.command").write_text("nonce\n")
    master, slave = pty.openpty()
    environment = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "TANDEM_SHELL": f"{tmp_path}/s",
        "TANDEM_LINKS": "-P",
        "TANDEM_BARE": "1",
    }
    leader = ["sh", "-c", 'bash --rcfile "$1" -i; :', "sh", BASHRC]  # who leads no session gets no terminal by opening one
    with subprocess.Popen(leader, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True) as shell:
        os.close(slave)
        said = b""
        try:
            while b"7133;nonce;prompt;0" not in said:
                assert select.select([master], [], [], SECONDS)[0], said
                said += os.read(master, 4096)
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
    os.close(master)


def test_where_the_kernel_does_not_say_who_has_the_terminal_it_is_the_latest_group() -> None:
    with subprocess.Popen([sys.executable, "-c", LEADER], start_new_session=True, stdout=subprocess.PIPE, text=True) as leader:
        assert leader.stdout
        older, latest = int(leader.stdout.readline()), int(leader.stdout.readline())

        def signalled(name: str) -> str:
            argv = ["sh", "-c", _SIGNAL, "sh", str(leader.pid), name]
            return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False, timeout=SECONDS).stdout.strip()

        try:
            assert [signalled("none"), signalled("KILL")] == ["group", "group"]
            assert leader.stdout.readline() == "interrupted\n"
            until(lambda: is_over(latest))
            assert (is_over(older), signalled("none")) == (False, "group")
            assert signalled("KILL") == "group"
            until(lambda: is_over(older))
            assert signalled("none") == "shell"
        finally:
            leader.kill()


def is_over(pid: int) -> bool:
    """Whether a process has ended and is not reaped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
