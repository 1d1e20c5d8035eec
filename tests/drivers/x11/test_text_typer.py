"""Text arrives whatever the program that has the focus makes of a paste."""

from collections.abc import Callable, Iterator

import pytest

from sandbox_server.drivers.x11 import text_typer
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.text_typer import MAX_KEYED
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import until

pytestmark = pytest.mark.anyio
MIXED = "hi é 世界 🙂 שלום مرحبا"


@pytest.fixture
def start_program(xserver: XServer) -> Iterator[Callable[..., Program]]:
    """Start programs that take the focus."""
    running: list[Program] = []

    def start(**options: object) -> Program:
        program = Program(xserver.name, **options)  # type: ignore[arg-type] # passed through
        program.start()
        running.append(program)
        return program

    yield start
    for program in running:
        program.close()


@pytest.mark.parametrize(
    "text", [MIXED, "x" * (MAX_KEYED + 1), "two\nlines", "長い" * 100_000], ids=["mixed", "long", "lines", "very long"]
)
async def test_what_keys_suit_badly_is_pasted_and_the_clipboard_given_back(
    desktop: Desktop, start_program: Callable[..., Program], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_typer, "PASTE_SECONDS", 30.0)
    program = start_program()
    await desktop.clipboard.write("before")
    assert await desktop.typist.type(text, use_clipboard=True) == "clipboard"
    until(lambda: program.text == text)
    assert await desktop.clipboard.read() == "before"


async def test_plain_text_is_typed(desktop: Desktop, start_program: Callable[..., Program]) -> None:
    program = start_program()
    assert await desktop.typist.type("Hello, World!", use_clipboard=True) == "keys"
    until(lambda: program.text == "Hello, World!")


async def test_without_the_clipboard_everything_is_typed(desktop: Desktop, start_program: Callable[..., Program]) -> None:
    program = start_program()
    assert await desktop.typist.type(MIXED, use_clipboard=False) == "keys"
    until(lambda: program.text == MIXED)


async def test_a_program_that_does_not_paste_is_typed_to(desktop: Desktop, start_program: Callable[..., Program]) -> None:
    program = start_program(pastes=False)
    assert await desktop.typist.type(MIXED, use_clipboard=True) == "keys"
    until(lambda: program.text == MIXED)


async def test_a_terminal_is_never_sent_control_and_v(desktop: Desktop, start_program: Callable[..., Program]) -> None:
    program = start_program(kind="XTerm")
    assert await desktop.typist.type(MIXED, use_clipboard=True) == "keys"
    until(lambda: program.text == MIXED)
    assert not [event for event in program.events if event[0] == "down" and event[1] == ord("v")]
