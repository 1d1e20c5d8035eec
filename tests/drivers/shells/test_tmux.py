"""Terminals in a real tmux, which a real spawner starts as the agent."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.shells import tmux as driver
from sandbox_server.drivers.shells.terminal_screen import TerminalScreen
from sandbox_server.drivers.shells.tmux import PaneStart, Tmux, TmuxRefused
from sandbox_server.drivers.spawn.process import LOST, Exit, Processes
from tests.drivers.shells.ear import Ear
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio


def sh(script: str, cwd: str = "/", **environment: str) -> PaneStart:
    return PaneStart(["sh", "-c", script], cwd, environment)


def raw(script: str) -> PaneStart:
    """A program that gets every key as it is."""
    return sh(f"stty raw -echo; echo ready; {script}")


def ask_by_hand(terminals: Path, *words: str) -> str:
    done = subprocess.run(["tmux", "-S", str(terminals / "tmux.sock"), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


async def server_pid(tmux: Tmux) -> int:
    return int((await tmux.ask("display-message -p '#{pid}'"))[0])


async def test_everything_that_a_program_writes_is_heard_from_its_first_byte_on(tmux: Tmux, ear: Ear) -> None:
    await tmux.open(sh("printf 'a\\\\b\\033[1m\\303\\251'; sleep 60"), ear)
    await ear.hears("a\\b\x1b[1mé".encode())
    assert ear.heard == "a\\b\x1b[1mé".encode()


async def test_a_large_output_arrives_whole_and_in_order(tmux: Tmux, ear: Ear) -> None:
    await tmux.open(sh("stty -onlcr; seq 200000; exec sleep 600"), ear)
    await ear.hears(b"\n200000\n")
    assert ear.heard == b"".join(b"%d\n" % number for number in range(1, 200001))


async def test_two_terminals_are_heard_apart(tmux: Tmux) -> None:
    ears = [Ear(), Ear()]
    for number, ear in enumerate(ears):
        await tmux.open(sh(f"echo terminal {number}; exec sleep 600"), ear)
    for number, ear in enumerate(ears):
        await ear.hears(b"\r\n")
        assert ear.heard == b"terminal %d\r\n" % number


@pytest.mark.parametrize(("script", "observed"), [("exit 7", Exit(7, None)), ("kill -KILL $$", Exit(None, signal.SIGKILL))])
async def test_the_end_of_a_program_is_told_as_it_was_seen(tmux: Tmux, ear: Ear, script: str, observed: Exit) -> None:
    pane = await tmux.open(sh(f"echo ready; read -r line; {script}"), ear)
    await ear.hears(b"ready")
    assert ear.exits == []
    pane.type(b"\r")
    assert await ear.end() == observed


async def test_the_end_of_a_program_that_ends_at_once_is_told(tmux: Tmux, ear: Ear) -> None:
    await tmux.open(sh("exit 7"), ear)
    assert await ear.end() == Exit(7, None)


async def test_a_window_that_somebody_calls_ended_has_not_ended(tmux: Tmux, terminals: Path, ear: Ear) -> None:
    pane = await tmux.open(raw("cat"), ear)
    ask_by_hand(terminals, "rename-window", "-t", pane.window, "ended")
    await ear.hears(b"ready")
    pane.type(b"still here")
    await ear.hears(b"still here")
    assert ear.exits == []


async def test_a_program_starts_in_its_directory_with_its_environment(tmux: Tmux, home: Path, ear: Ear) -> None:
    await tmux.open(sh('echo "$PWD|$ODD|$TERM"; exec sleep 600', str(home), ODD='it\'s a "$x"; #{pane_id} \\'), ear)
    await ear.hears(b"\r\n")
    assert ear.heard.decode() == f'{home}|it\'s a "$x"; #{{pane_id}} \\|xterm-256color\r\n'


async def test_the_pid_is_the_program_s_own(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("echo $$; exec sleep 60"), ear)
    await ear.hears(b"\r\n")
    assert int(ear.heard) == pane.pid


async def test_typed_bytes_arrive_as_they_are(tmux: Tmux, ear: Ear) -> None:
    data = bytes(range(256)) * 20  # more than one command holds
    pane = await tmux.open(raw("cat"), ear)
    await ear.hears(b"ready\n")
    pane.type(data[:3000])
    pane.type(data[3000:])
    await eventually(lambda: len(ear.heard) >= len(b"ready\n" + data))
    assert ear.heard == b"ready\n" + data


async def test_a_terminal_takes_the_size_that_it_is_given(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("trap 'stty size' WINCH; echo ready; while :; do sleep 600 & wait; done"), ear)
    await ear.hears(b"ready")
    await pane.resize(61, 17)
    await ear.hears(b"17 61")
    assert (await pane.capture()).state.size == (61, 17)


async def test_a_picture_is_taken_between_what_it_shows_and_what_comes_after(tmux: Tmux) -> None:
    class Cut(Ear):
        shown = 0

        def cut(self, screen: TerminalScreen) -> None:
            self.shown = len(self.heard)

    ear = Cut()
    pane = await tmux.open(sh("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; done; sleep 60"), ear)
    await ear.hears(b"\n100\r")
    screen = await pane.capture(ear.cut)
    await ear.hears(b"\n3000\r\n")
    before = ear.heard[: ear.shown].split(b"\r\n")
    shown = [line for line in screen.lines if line]
    assert shown[-1] == [line for line in before if line][-1]
    assert len(shown) == len([line for line in before if line])


async def test_a_picture_holds_the_history_and_the_screen(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("seq 100; exec sleep 60"), ear)
    await ear.hears(b"100\r\n")
    screen = await pane.capture()
    assert [*screen.history, *screen.visible] == [*(b"%d" % number for number in range(1, 101)), b""]
    assert len(screen.visible) == screen.state.rows
    assert not screen.full


async def test_a_picture_says_when_older_lines_may_be_gone(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("seq 12000; exec sleep 60"), ear)
    await ear.hears(b"12000\r\n")
    assert (await pane.capture()).full


async def test_a_terminal_whose_program_ended_still_shows_what_it_wrote(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("echo last words; read -r line; exit 3"), ear)
    await ear.hears(b"last words\r\n")
    pane.type(b"\r")
    await ear.end()
    assert b"last words" in (await pane.capture()).lines


async def test_a_terminal_that_takes_the_place_of_another_has_its_size(tmux: Tmux, ear: Ear) -> None:
    old = await tmux.open(sh("exit 1"), ear)
    await ear.end()
    await old.resize(61, 17)
    new = await tmux.open(sh("exec sleep 600"), Ear())
    await new.replace(old)
    assert (await new.capture()).state.size == (61, 17)
    assert old.closed
    with pytest.raises(Unavailable):
        await old.capture()


async def test_a_terminal_can_take_the_place_of_one_that_is_gone(tmux: Tmux, terminals: Path, ear: Ear) -> None:
    old = await tmux.open(sh("exec sleep 600"), ear)
    ask_by_hand(terminals, "kill-window", "-t", old.window)
    new = await tmux.open(raw("cat"), Ear())
    await new.replace(old)
    assert (await new.capture()).state.size == (120, 32)


async def test_closing_a_terminal_ends_its_program_and_may_be_done_twice(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("exec sleep 600"), ear)
    await pane.close()
    await pane.close()
    assert pane.closed
    until(lambda: not os.path.exists(f"/proc/{pane.pid}"))
    with pytest.raises(Unavailable):
        await pane.capture()


async def test_what_tmux_refuses_is_told_in_its_words(tmux: Tmux) -> None:
    with pytest.raises(TmuxRefused, match="can't find window: @77"):
        await tmux.ask("kill-window -t @77")
    assert await tmux.ask("display-message -p 'still here'") == [b"still here"]


async def test_nothing_can_be_typed_where_nothing_is_connected(tmux: Tmux) -> None:
    with pytest.raises(Unavailable, match="connected again"):
        tmux.tell(["send-keys -t %1 -H 41"])


async def test_without_a_spawner_there_are_no_terminals(terminals: Path, ear: Ear) -> None:
    async with Tmux(Processes("/nowhere/spawn.sock"), str(terminals)) as tmux:
        with pytest.raises(Unavailable):
            await tmux.open(sh("exit"), ear)


async def test_terminals_go_on_without_this_process_and_can_be_taken_over(processes: Processes, terminals: Path, ear: Ear) -> None:
    async with Tmux(processes, str(terminals)) as first:
        pane = await first.open(raw("cat"), ear)
        await ear.hears(b"ready")
    later = Ear()
    async with Tmux(processes, str(terminals)) as second:
        adopted = await second.adopt(pane.id, pane.pid, later)
        assert adopted is not None
        assert (adopted.window, adopted.pid) == (pane.window, pane.pid)
        adopted.type(b"hello")
        await later.hears(b"hello")
    assert b"hello" not in ear.heard


async def test_an_end_that_nobody_heard_is_told_to_who_takes_the_terminal_over(processes: Processes, terminals: Path, ear: Ear) -> None:
    async with Tmux(processes, str(terminals)) as first:
        pane = await first.open(sh("exec sleep 600"), ear)
    os.kill(pane.pid, signal.SIGTERM)
    until(lambda: ask_by_hand(terminals, "display-message", "-p", "-t", pane.id, "#{pane_dead}") == "1")
    later = Ear()
    async with Tmux(processes, str(terminals)) as second:
        assert await second.adopt(pane.id, pane.pid, later)
        assert later.exits == [Exit(None, signal.SIGTERM)]


async def test_a_terminal_that_is_gone_or_another_s_is_not_taken_over(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("exec sleep 600"), ear)
    assert await tmux.adopt("%77", pane.pid, Ear()) is None
    assert await tmux.adopt(pane.id, pane.pid + 1, Ear()) is None


async def test_a_lost_connection_is_made_again_and_the_gap_is_told(tmux: Tmux, terminals: Path, ear: Ear) -> None:
    pane = await tmux.open(raw("cat"), ear)
    await ear.hears(b"ready")
    ask_by_hand(terminals, "detach-client", "-s", driver.SESSION)
    await eventually(lambda: ear.gaps == 1)
    pane.type(b"hello again")
    await ear.hears(b"hello again")
    assert ear.exits == []


async def test_an_end_during_the_gap_is_told_after_it(tmux: Tmux, terminals: Path, ear: Ear) -> None:
    pane = await tmux.open(sh("exec sleep 600"), ear)
    ask_by_hand(terminals, "set-hook", "-gu", "pane-died", ";", "detach-client", "-s", driver.SESSION, ";", "run-shell", f"kill {pane.pid}")
    assert await ear.end() in (LOST, Exit(None, signal.SIGTERM))


async def test_when_the_tmux_server_dies_its_terminals_are_lost_and_new_ones_open(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(sh("exec sleep 600"), ear)
    os.kill(await server_pid(tmux), signal.SIGKILL)
    assert await ear.end() == LOST
    assert pane.closed
    new = Ear()
    await tmux.open(sh("echo new; sleep 60"), new)
    await new.hears(b"new")
    assert ear.exits == [LOST]


async def test_a_terminal_opened_while_the_server_dies_is_not_mistaken_for_an_old_one(tmux: Tmux, ear: Ear) -> None:
    await tmux.open(sh("exec sleep 600"), ear)
    pid = await server_pid(tmux)
    os.kill(pid, signal.SIGSTOP)
    waiting = asyncio.create_task(tmux.ask("display-message -p x"))
    await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Unavailable):
        await waiting
    new = Ear()
    pane = await tmux.open(raw("cat"), new)  # a new server counts from the beginning: it has the number of the old one
    await new.hears(b"ready")
    assert await ear.end() == LOST
    pane.type(b"hello")
    await new.hears(b"hello")
    assert new.exits == []


async def test_a_program_cannot_speak_for_tmux(tmux: Tmux, ear: Ear) -> None:
    pane = await tmux.open(
        sh(r"printf '%%end 1 2 1\n%%window-renamed @1 ended\n%%output %%0 x\n\033]0;ended\007\033kended\033\\'; exec sleep 60"), ear
    )
    await ear.hears(b"\x1b\\")
    shown = [line for line in (await pane.capture()).lines if line]
    assert shown == [b"%end 1 2 1", b"%window-renamed @1 ended", b"%output %0 x"]
    assert ear.exits == []


async def test_an_end_that_is_known_beforehand_is_told_at_once_and_new_terminals_open(tmux: Tmux, ear: Ear) -> None:
    await tmux.open(PaneStart(["sleep", "60"], "/", {}), ear)
    server = int((await tmux.ask("display-message -p '#{pid}'"))[0])
    os.kill(server, signal.SIGKILL)
    tmux.ended()
    assert ear.exits == [LOST]
    again = Ear()
    await tmux.open(PaneStart(["sh", "-c", "echo here; exec sleep 60"], "/", {}), again)
    await again.hears(b"here")
    assert ear.gaps == 0
