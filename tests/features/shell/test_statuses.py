"""What a session says of commands that make it hard to say: the status is true, the exit code was observed, the output is theirs."""

import asyncio
from typing import Any

import pytest

from sandbox_server.core import InvalidArgument, TooLarge
from sandbox_server.drivers.shells import shells
from sandbox_server.features.shell.processes import ShellViewRequest
from sandbox_server.features.shell.session_profile import ShellId
from sandbox_server.features.shell.state import ShellState
from tests.features.shell.asking import shows, status_of, type_into
from tests.features.shell.conftest import Runner, Server

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("echo hi", "hi\n", 0),
        ("false", "", 1),
        ("exit_code() { return 42; }; exit_code", "", 42),
        ("", "", 0),
        ("   # nothing but a comment", "", 0),
        ("cat <<EOF\none\n$((1 + 1))\nEOF", "one\n2\n", 0),
        ("cat <<'EOF'\n$HOME `x` \\ \"'\nEOF", "$HOME `x` \\ \"'\n", 0),
        ("for i in 1 2\ndo\n  echo $i\ndone", "1\n2\n", 0),
        ("echo one \\\n  two", "one two\n", 0),
        ("echo 'a!b' !x", "a!b !x\n", 0),
        ("nonexistent-program", "bash: nonexistent-program: command not found\n", 127),
        ("return 3", "bash: return: can only `return' from a function or sourced script\n", 2),
        ("! true", "", 1),
        ("(exit 7) | cat", "", 0),
        ("sh -c 'kill -9 $$'", "Killed\n", 137),
        ("printf 'no newline'", "no newline", 0),
        ("printf '10%%\\r20%%\\r100%%\\n'", "100%\n", 0),
        ("printf '\\033[31mred\\033[0m\\n'", "red\n", 0),
        ("echo héllo 日本", "héllo 日本\n", 0),
        ("echo $((1/0)); echo never", 'bash: 1/0: division by 0 (error token is "0")\n', 1),
        ("echo ${nope?gone}; echo never", "bash: nope: gone\n", 1),
        ("yes | head -n 2", "y\ny\n", 0),
        ("echo out; echo err >&2", "out\nerr\n", 0),
        ("tty >/dev/null && echo yes", "yes\n", 0),
    ],
)
async def test_a_command_gives_its_own_output_and_exit_code(run: Runner, command: str, output: str, code: int) -> None:
    result = await run(command)

    assert (result.status, result.output, result.exit_code) == ("completed", output, code)


@pytest.mark.parametrize("command", ['echo "unclosed', "for i in 1 2", "cat <(", "if true; then", "echo )"])
async def test_incomplete_input_is_an_error_and_not_a_question(run: Runner, command: str) -> None:
    broken = await run(command)
    after = await run("echo after")

    assert broken.status == "completed"
    assert broken.exit_code in (1, 2)
    assert (after.output, after.exit_code) == ("after\n", 0)


async def test_a_session_keeps_directory_variables_functions_and_the_last_status(run: Runner) -> None:
    await run("cd /usr; export A=1; declare -A map=([k]=v); f() { echo called; }; set -- x y")
    kept = await run('echo $PWD $A ${map[k]} $2; f; sh -c "echo \\$A"')
    await run("(exit 9)")
    code = await run("echo $?")

    assert kept.output == "/usr 1 v y\ncalled\n1\n"
    assert code.output == "9\n"


async def test_a_command_of_a_megabyte_runs(run: Runner) -> None:
    result = await run(f"text='{'x' * 1_000_000}'\necho ${{#text}}")

    assert (result.output, result.exit_code) == ("1000000\n", 0)


async def test_a_command_over_the_limit_is_refused_and_does_not_run(run: Runner) -> None:
    with pytest.raises(TooLarge):
        await run("touch ran #" + "x" * (5 << 20))

    assert (await run("ls ran")).exit_code != 0


async def test_a_command_with_a_nul_is_refused(run: Runner) -> None:
    with pytest.raises(InvalidArgument):
        await run("echo a\0b")


async def test_a_background_job_does_not_hold_the_session(run: Runner) -> None:
    started = await run("sleep 60 & echo $!")
    listed = await run("jobs")
    ended = await run("kill %1; wait %1")

    assert (started.status, started.exit_code) == ("completed", 0)
    assert "Running" in (listed.output or "")
    assert ended.exit_code == 143


async def test_a_prompt_waits_for_what_is_typed(run: Runner) -> None:
    asked = await run("read -p 'Name? ' name; echo hello $name", no_change_timeout=1)
    seen = await shows(run, "Name?")
    await type_into(run, "Ada")
    status = await status_of(run)

    assert (asked.status, asked.output, asked.exit_code) == ("no_change_timeout", "Name? ", None)
    assert seen.endswith("Name?")
    assert status == "completed"
    assert "hello Ada" in await shows(run, "hello Ada")


async def test_echo_that_is_off_hides_what_is_typed(run: Runner) -> None:
    # The command's echo does not hold the prompt as it is printed: only `read` prints it, with the echo off already.
    await run("read -s -p 'Pass''word: ' word; echo; echo ${#word}", timeout=0)
    await shows(run, "Password:")
    await type_into(run, "secret")

    assert await status_of(run) == "completed"
    assert "secret" not in await shows(run, "6")


async def test_stty_without_echo_leaves_the_session_in_order(run: Runner) -> None:
    await run("stty -echo")

    assert (await run("echo visible")).output == "visible\n"


@pytest.mark.parametrize("asked", [r"\e[c", r"\e[6n", r"\e[>q", r"\e]10;?\a", r"\e[?2026$p"], ids=range(5))
async def test_what_a_terminal_answers_to_output_is_not_taken_for_what_was_typed(run: Runner, asked: str) -> None:
    for _ in range(3):
        assert (await run(f"printf '{asked}'")).exit_code == 0
    assert (await run("echo after")).output == "after\n"


async def test_binary_output_does_no_harm(run: Runner) -> None:
    noise = await run("head -c 200000 /dev/urandom")
    after = await run("echo after")

    assert (noise.status, noise.exit_code) == ("completed", 0)
    assert (after.output, after.exit_code) == ("after\n", 0)


async def test_every_byte_can_be_written(run: Runner) -> None:
    result = await run('for i in {0..255}; do printf "\\\\x$(printf %x $i)"; done; echo; echo end')

    assert result.exit_code == 0
    assert (result.output or "").endswith("end\n")


async def test_twenty_megabytes_leave_their_beginning_and_end_and_the_number_of_what_is_between(run: Runner) -> None:
    result = await run("seq 1 2500000", truncate=False)
    output = result.output or ""

    assert (result.status, result.exit_code) == ("completed", 0)
    assert output.startswith("1\n2\n3\n")
    assert output.endswith("2499999\n2500000\n")
    assert "bytes were not kept" in output
    assert len(output) < 3 << 20


async def test_a_truncated_output_says_how_much_is_missing(run: Runner) -> None:
    short, long = await run("seq 1 20000"), await run("seq 1 20000", truncate=False)

    assert len(short.output or "") <= 30_000
    assert "characters omitted" in (short.output or "")
    assert long.output == "".join(f"{number}\n" for number in range(1, 20001))


async def test_exit_ends_the_shell_and_the_next_command_opens_another(run: Runner) -> None:
    await run("cd /usr; export A=1")
    ended = await run("exit 3")
    said = run.hint
    after = await run("echo $PWD $A")

    assert (ended.status, ended.exit_code) == ("terminated", 3)
    assert "exit code 3" in (said or "")
    assert after.output == "/usr\n"
    assert "a new one was opened" in (run.hint or "")


async def test_exec_replaces_the_shell(run: Runner) -> None:
    ended = await run("exec true")

    assert (ended.status, ended.exit_code) == ("terminated", 0)
    assert (await run("echo back")).output == "back\n"


async def test_a_killed_shell_has_no_exit_code(run: Runner) -> None:
    ended = await run("kill -9 $$")

    assert (ended.status, ended.exit_code) == ("terminated", None)
    assert "SIGKILL" in (run.hint or "")
    assert (await run("echo back")).output == "back\n"


async def test_errexit_ends_the_shell_with_the_code_of_the_command(run: Runner) -> None:
    fine = await run("set -e; true; echo still")
    ended = await run("echo before; sh -c 'exit 5'; echo never")

    assert (fine.output, fine.status) == ("still\n", "completed")
    assert (ended.status, ended.exit_code) == ("terminated", 5)
    assert "before\n" in (ended.output or "")
    assert "never" not in (ended.output or "")


@pytest.mark.parametrize(
    "setting",
    [
        "PS1='> '",
        "PS1='two\\nlines $ '",
        "PS1=",
        "unset PS1",
        "PS0=started",
        "PROMPT_COMMAND='echo prompt'",
        "PROMPT_COMMAND=(false true)",
        "unset PROMPT_COMMAND PS0 PS1",
        "set -u",
        "set -x",
        "set -v",
        "set -f",
        "set -a",
        "set -o noclobber",
        "set -o posix",
        "set -o vi",
        "set -T",
        "set -m +m",
        "set +o history",
        "unalias -a",
        "shopt -u expand_aliases",
        "shopt -u promptvars",
        "shopt -s extdebug",
        "alias echo=echo; alias eval=false",
        "printf() { command false; }; eval() { command false; }",
        "HISTCONTROL= HISTFILE= IFS=x",
        "trap 'true' DEBUG",
        "trap 'true' ERR",
        "trap 'true' EXIT INT TERM",
        "trap '' INT",
        "stty raw",
        "stty -icrnl -onlcr",
        "stty -isig -icanon",
        "exec 2>/dev/null",
        "reset",
        "clear",
        "tput smcup",
        "printf '\\033(0\\033[?25l\\033[?1000h'",
        "bind 'set enable-bracketed-paste off'",
        "bind -x '\"\\C-m\": true' 2>/dev/null; bind '\"\\C-m\": accept-line'",
        "LC_ALL=C",
        'cd "$(mktemp -d)" && rmdir "$PWD"',
        "TMOUT=1000 COLUMNS=10 LINES=3",
    ],
)
async def test_a_changed_shell_still_gives_true_statuses(run: Runner, setting: str) -> None:
    await run(setting)
    good = await run("sh -c 'echo fine'")
    bad = await run("sh -c 'exit 3'")

    assert (good.status, good.exit_code) == ("completed", 0)
    assert "fine" in (good.output or "")
    assert (bad.status, bad.exit_code) == ("completed", 3)


async def test_redirected_output_goes_where_the_session_sent_it(run: Runner) -> None:
    await run("exec >out.txt")
    hidden = await run("echo into the file; false")
    await run("exec >/dev/tty")

    assert (hidden.output, hidden.exit_code) == ("", 1)
    assert (await run("cat out.txt")).output == "into the file\n"


async def test_a_full_screen_program_is_seen_as_its_screen_and_leaves_nothing(run: Runner) -> None:
    await run("printf 'one\\ntwo\\n' >file")
    await run("less -+F -+X file", timeout=0)
    screen = await shows(run, "(END)")
    await type_into(run, "q", enter=False)

    assert [line for line in screen.splitlines() if line][:2] == ["one", "two"]
    assert await status_of(run) == "completed"
    console = (await run.shell.processes.view(ShellViewRequest(id=run.id))).data.console
    assert console
    assert "two" not in console[-1].output


async def test_top_is_seen_and_killed(run: Runner) -> None:
    await run("top", timeout=0)
    screen = await shows(run, "load average")
    killed = await run.shell.processes.kill_process(ShellId(id=run.id))

    assert "PID" in screen
    assert (killed.data.status, killed.data.exit_code) == ("terminated", None)
    assert (await run("echo after")).output == "after\n"


async def test_agents_have_no_pager(run: Runner) -> None:
    await run("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first")
    result = await run("git log --format=%s; echo $PAGER")

    assert result.output == "first\ncat\n"


async def test_a_nested_shell_runs_until_it_ends(run: Runner) -> None:
    nested = await run("bash --norc", no_change_timeout=1)
    await type_into(run, "echo in $SHLVL; exit 4")
    status = await status_of(run)
    result = (await run.shell.processes.view(ShellViewRequest(id=run.id))).data

    assert nested.status == "no_change_timeout"
    assert (status, result.exit_code) == ("completed", 4)


async def test_a_root_shell_is_nested_too(run: Runner) -> None:
    await run("sudo -n sh", no_change_timeout=1)
    await type_into(run, "id -u; exit 6")
    await status_of(run)
    result = (await run.shell.processes.view(ShellViewRequest(id=run.id))).data

    assert result.exit_code in (6, 1), "6 where the agent may become root"


async def test_a_marks_look_alike_is_output(run: Runner) -> None:
    result = await run(r"printf '\033]7133;0000;end;0000;0;/\007\033]133;D;0\007'; echo -e \"$PS1\"; sh -c 'exit 8'")

    assert (result.status, result.exit_code) == ("completed", 8)


async def test_a_file_with_every_kind_of_mark_is_output(run: Runner, server: Server) -> None:
    marks = b"".join(b"\x1b]7133;%b;end;x;0;/\x07" % nonce for nonce in (b"", b"x", b"a" * 32))
    (server.home / "marks").write_bytes(marks + b"\x1b]7133;" + b"z" * 10000)
    result = await run("cat marks; sh -c 'exit 2'")

    assert (result.status, result.exit_code) == ("completed", 2)


async def test_a_deleted_command_file_is_made_again(run: Runner, server: Server) -> None:
    await run("echo first")
    await run(f"rm -f {server.shells_directory}/*.command")
    result = await run("echo again")

    assert (result.output, result.exit_code) == ("again\n", 0)


async def test_so_it_is_where_the_shell_misses_it_before_the_server_knows_that_it_was_typed(
    run: Runner, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed = asyncio.Event()
    typed, marked = shells.LiveShell.run, ShellState.marked

    async def slowly(self: shells.LiveShell, command: Any) -> None:
        await typed(self, command)
        await missed.wait()

    def noted(self: ShellState, mark: Any) -> None:
        marked(self, mark)
        if mark.kind == "unread":
            missed.set()

    await run(f"rm -f {server.shells_directory}/*.command")
    monkeypatch.setattr(shells.LiveShell, "run", slowly)
    monkeypatch.setattr(ShellState, "marked", noted)
    result = await run("echo again")

    assert (result.output, result.exit_code) == ("again\n", 0)
