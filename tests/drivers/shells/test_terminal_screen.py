"""Pictures of terminals: what they say, and that another terminal that is given their bytes shows the same."""

import asyncio
from pathlib import Path

import pytest

from sandbox_server.drivers.shells.terminal_screen import STATE_FORMAT, ScreenState, TerminalScreen, trimmed
from sandbox_server.drivers.shells.tmux import Pane, PaneStart, Tmux
from sandbox_server.drivers.spawn.process import Exit
from tests.tables import table_test

FIELDS = [field.strip("#{}") for field in STATE_FORMAT.split(",")]
PLAIN = {
    "pane_width": 20,
    "pane_height": 3,
    "history_limit": 100,
    "cursor_flag": 1,
    "wrap_flag": 1,
    "scroll_region_lower": 2,
}


def state(**values: int) -> ScreenState:
    return ScreenState(dict.fromkeys(FIELDS, 0) | PLAIN | values)


def screen(*lines: bytes, main: tuple[bytes, ...] = (), pending: bytes = b"", **values: int) -> TerminalScreen:
    return TerminalScreen(state(**values), lines, main, pending)


def test_an_answer_is_read_field_by_field_and_what_is_not_set_is_0() -> None:
    answer = ",".join("" if field == "mouse_sgr_flag" else str(number) for number, field in enumerate(FIELDS))
    parsed = ScreenState.parse(answer.encode())
    assert {name: parsed[name] for name in FIELDS} == {name: number for number, name in enumerate(FIELDS)} | {"mouse_sgr_flag": 0}


def test_an_answer_with_other_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ScreenState.parse(b"80,24")


def test_the_size_is_columns_and_rows() -> None:
    assert state(pane_width=120, pane_height=32).size == (120, 32)


def test_rows_are_history_and_what_is_visible() -> None:
    picture = screen(b"1", b"2", b"3", b"4", b"5")
    assert (picture.history, picture.visible) == ((b"1", b"2"), (b"3", b"4", b"5"))


@pytest.mark.parametrize(("size", "full"), [(0, False), (89, False), (90, True), (100, True)])
def test_a_history_near_its_limit_may_have_lost_rows(size: int, full: bool) -> None:
    assert screen(history_size=size).full is full


def test_a_screen_is_restored_from_scratch_with_its_cursor() -> None:
    restored = screen(b"a", b"b \x1b[1mc", b"", cursor_x=4, cursor_y=1).restore()
    assert restored.startswith(b"\x1bc")
    assert b"\x1bca\r\nb \x1b[1mc\r\n" in restored
    assert restored.endswith(b"\x1b[m\x1b[2;5H")


@table_test(
    [
        ({"cursor_flag": 0}, b"\x1b[?25l"),
        ({"wrap_flag": 0}, b"\x1b[?7l"),
        ({"insert_flag": 1}, b"\x1b[4h"),
        ({"keypad_cursor_flag": 1}, b"\x1b[?1h"),
        ({"keypad_flag": 1}, b"\x1b="),
        ({"origin_flag": 1}, b"\x1b[?6h"),
        ({"mouse_standard_flag": 1}, b"\x1b[?1000h"),
        ({"mouse_button_flag": 1}, b"\x1b[?1002h"),
        ({"mouse_all_flag": 1}, b"\x1b[?1003h"),
        ({"mouse_sgr_flag": 1}, b"\x1b[?1006h"),
        ({"scroll_region_upper": 1}, b"\x1b[2;3r"),
        ({"scroll_region_lower": 1}, b"\x1b[1;2r"),
    ]
)
def test_a_mode_is_switched_only_when_it_is_not_as_after_a_reset(values: dict[str, int], sequence: bytes) -> None:
    assert sequence in TerminalScreen(state(**values), (b"", b"", b""), (), b"").restore()
    assert sequence not in screen(b"", b"", b"").restore()


def test_bytes_that_are_not_utf8_are_restored_as_they_are() -> None:
    assert b"caf\xe9" in screen(b"caf\xe9", b"", b"").restore()


def test_an_unfinished_sequence_is_left_unfinished_at_the_very_end() -> None:
    assert screen(b"", b"", b"", pending=rb"\033[3").restore().endswith(b"H\x1b[3")


@pytest.mark.parametrize(
    ("rows", "seen"),
    [
        ([b"a  ", b"  ", b""], [b"a", b"", b""]),
        ([b"\x1b[31ma\x1b[39m  "], [b"\x1b[31ma\x1b[39m"]),
        ([b"\x1b[38;5;44ma  ", b"\x1b[38;2;41;42;43mb  "], [b"\x1b[38;5;44ma", b"\x1b[38;2;41;42;43mb"]),
        ([b"\x1b[44ma  ", b"b  ", b"\x1b[49mc  "], [b"\x1b[44ma  ", b"b  ", b"\x1b[49mc"]),
        ([b"\x1b[1;48;5;9ma  ", b"\x1b[0mb  "], [b"\x1b[1;48;5;9ma  ", b"\x1b[0mb"]),
        ([b"\x1b[48;2;1;2;0ma  ", b"\x1b[mb  "], [b"\x1b[48;2;1;2;0ma  ", b"\x1b[mb"]),
        ([b"\x1b[104ma  ", b"\x1b[0;7mb  ", b"\x1b[0mc  "], [b"\x1b[104ma  ", b"\x1b[0;7mb  ", b"\x1b[0mc"]),
        ([b"\x1b[4:3;58:2::1:2:0ma  ", b"\x1b[49mb  "], [b"\x1b[4:3;58:2::1:2:0ma  ", b"\x1b[49mb  "]),
    ],
)
def test_blanks_at_the_end_of_a_row_are_kept_where_they_are_seen(rows: list[bytes], seen: list[bytes]) -> None:
    assert trimmed(rows) == seen


class Ear:
    """Waits for the last bytes of a program."""

    def __init__(self, last: bytes) -> None:
        self.done = asyncio.Event()
        self._last = last
        self._heard = b""

    def output(self, data: bytes) -> None:
        self._heard = (self._heard + data)[-1000:]
        if self._heard.endswith(self._last):
            self.done.set()

    def ended(self, observed: Exit) -> None:
        raise AssertionError(f"the program ended: {observed}")

    def missed(self) -> None:
        raise AssertionError("output was missed")


async def showing(tmux: Tmux, file: Path, content: bytes) -> Pane:
    """Give a terminal that was sent these bytes, and nothing else."""
    file.write_bytes(content)
    ear = Ear(content[-500:])
    pane = await tmux.open(PaneStart(["sh", "-c", f"stty raw -echo; cat {file}; exec sleep 600"], "/", {}), ear)
    async with asyncio.timeout(30):
        await ear.done.wait()
    return pane


NUMBERS = b"".join(b"line %d\r\n" % number for number in range(100))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "content",
    [
        b"$ ",
        NUMBERS + b"$ ",
        "Grüße 日本語 🙂\r\n$ ".encode(),
        b"\x1b[1;31mred\x1b[0m \x1b[48;5;22;3mgreen\x1b[m\r\n\x1b[38;2;1;2;3mx\r\ny\x1b[m$ ",
        b"x" * 1000 + b"\r\n$ ",
        b"a\x1b[5;10Hb\x1b[?25l\x1b[?1h\x1b=\x1b[4h\x1b[2;6r\x1b[3;3H",
        b"\x1b[?1002h\x1b[?1006h\x1b[?7l$ ",
        NUMBERS + b"\x1b[7;9Hhere\x1b[?1049h\x1b[2J\x1b[Hfull\r\n\x1b[44mscreen\x1b[m\x1b[12;30Hx",
        b"few\r\n\x1b[?1049h\x1b[Hfull screen",
        b"\x1b[1;4;31;44mred\r\n" * 60 + b"\x1b[0;32mgreen\x1b[?1049h\x1b[H\x1b[0;1;4;31;44mred again\r\n\x1b[mnot",
        b"\x1b[31mred\r\n" * 60 + b"\x1b[mnot red\x1b[?1049h\x1b[2J\x1b[Hnot red",
        b"\x1b[?1049h\x1b[44m\x1b[2J\x1b[Hall blue\x1b[20;1Hrow",
        b"top\r\n\x1b[42mgreen to the edge\x1b[K\x1b[m\r\nplain\r\n$ ",
        b"\r\n" * 40 + b"\x1b[41mred\r\n\x1b[mnot red\r\n" + NUMBERS + b"\x1b[41mred\x1b[m\r\nnot red\r\n$ ",
        b"\x1b[4munderlined      \x1b[m\r\n\x1b[7mexchanged       \x1b[m\r\nblank    \r\n$ ",
        b"\x1b[3;9r\x1b[?6h\x1b[2;4H",
        b"$ \x1b[3",
        b"$ \xc3",
    ],
)
async def test_another_terminal_that_is_given_a_picture_shows_the_same(tmux: Tmux, home: Path, content: bytes) -> None:
    first = await showing(tmux, home / "first", content)
    picture = await first.capture()
    second = await showing(tmux, home / "second", picture.restore())
    again = await second.capture()
    assert again.state == picture.state
    assert (again.lines, again.main, again.pending) == (picture.lines, picture.main, picture.pending)


@pytest.mark.anyio
async def test_a_picture_does_not_depend_on_what_the_terminal_showed_before(tmux: Tmux, home: Path) -> None:
    first = await showing(tmux, home / "first", b"quiet\r\n$ ")
    picture = await first.capture()
    noise = b"noise\x1b[?1049h\x1b[44m\x1b[2J\x1b[?6h\x1b[4h\x1b[?25l\x1b[3;5r\x1b[?1003h"
    second = await showing(tmux, home / "second", noise + picture.restore())
    again = await second.capture()
    assert again.visible == picture.visible
    assert (again.state.modes(), again.state.place(), again.state.alternate) == (picture.state.modes(), "\x1b[2;3H", False)
