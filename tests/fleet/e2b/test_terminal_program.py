"""The program that holds a terminal, run here."""

import subprocess
import sys

from tandem_fleet.e2b import terminal_program


def run(program: tuple[str, ...], frames: str, rows: int = 30, cols: int = 90) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a terminal, and give it frames."""
    words = terminal_program.argv(rows, cols, program)
    return subprocess.run([sys.executable, *words[1:]], input=frames.encode(), capture_output=True, timeout=60, check=False)


def test_a_program_has_a_terminal_of_the_size_that_was_asked_for() -> None:
    done = run(("sh", "-c", "test -t 0 && stty size"), "")
    assert (done.stdout, done.returncode) == (b"30 90\r\n", 0)


def test_input_and_a_new_size_arrive_in_order() -> None:
    frames = terminal_program.size_frame(11, 22) + terminal_program.input_frame("stty size; echo ä; exit 7\n".encode())
    done = run(("sh", "-i"), frames)
    assert "11 22" in done.stdout.decode()
    assert "\nä\r" in done.stdout.decode()
    assert done.returncode == 7


def test_the_end_of_the_program_is_the_end() -> None:
    assert run(("sh", "-c", "exit 3"), "").returncode == 3
    assert run(("sh", "-c", "kill -TERM $$"), "").returncode == -15
    assert run(("sh", "-c", "kill -KILL $$"), "").returncode == -9
    missing = run(("/no/such/program",), "")
    assert (missing.returncode, b"No such file" in missing.stdout) == (127, True)


def test_much_input_that_is_not_read_does_not_hold_up_output() -> None:
    frames = "".join(terminal_program.input_frame(b"x" * 3000 + b"\n") for _ in range(700))
    done = run(("sh", "-c", "stty -echo; for i in 1 2 3; do echo $i; sleep 0.1; done"), frames)
    assert done.stdout.endswith(b"1\r\n2\r\n3\r\n")


def test_the_program_in_the_terminal_is_found_again() -> None:
    assert terminal_program.program_of(terminal_program.argv(1, 2, ("bash", "-i"))) == ("bash", "-i")
    assert terminal_program.program_of(("python3", "-c", "print()")) == ("python3", "-c", "print()")
