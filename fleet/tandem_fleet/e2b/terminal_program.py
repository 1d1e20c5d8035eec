"""A program that runs another in a terminal of its own: standard input has frames, standard output is what the terminal shows.

It is sent to a sandbox as text, and needs Python 3.11 alone. A frame is a line: `d` with input in Base64, or `r` with rows and columns.
"""

import base64
from collections.abc import Sequence

PROGRAM = """
import base64, fcntl, os, selectors, signal, struct, sys, termios
rows, cols, argv = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
def resize(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
master, terminal = os.openpty()
resize(master, rows, cols)
child = os.fork()
if child == 0:
    try:
        os.login_tty(terminal)
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\\r\\n".encode())
    os._exit(127)
os.close(terminal)
os.set_blocking(master, False)
frames, waiting = b"", b""
selector = selectors.DefaultSelector()
selector.register(0, selectors.EVENT_READ)
selector.register(master, selectors.EVENT_READ)
running = open_input = taking = True
while running:
    for key, ready in selector.select():
        if key.fd == 0:
            data = os.read(0, 65536)
            open_input = bool(data)
            *lines, frames = (frames + data).split(b"\\n")
            for line in lines:
                if line[:1] == b"d":
                    waiting += base64.b64decode(line[1:])
                elif line[:1] == b"r":
                    resize(master, *map(int, line[1:].split()))
        elif key.fd == master:
            try:
                if ready & selectors.EVENT_READ:
                    data = os.read(master, 65536)
                    running = bool(data)
                    while data:
                        data = data[os.write(1, data):]
                if ready & selectors.EVENT_WRITE and waiting:
                    waiting = waiting[os.write(master, waiting):]
            except BlockingIOError:
                pass
            except OSError:
                running = False
    selector.modify(master, selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0))
    if taking != (open_input and len(waiting) < 1 << 20):
        taking = not taking
        selector.register(0, selectors.EVENT_READ) if taking else selector.unregister(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code not in (9, 19) else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def argv(rows: int, cols: int, program: Sequence[str]) -> tuple[str, ...]:
    """What starts a program in a terminal."""
    return ("python3", "-c", PROGRAM, str(rows), str(cols), *program)


def program_of(words: Sequence[str]) -> tuple[str, ...]:
    """The program that runs in the terminal, where `words` start one; else the words themselves."""
    return tuple(words[5:]) if tuple(words[:3]) == ("python3", "-c", PROGRAM) else tuple(words)


def input_frame(data: bytes) -> str:
    """Input for the terminal."""
    return f"d{base64.b64encode(data).decode()}\n"


def size_frame(rows: int, cols: int) -> str:
    """A new size of the terminal."""
    return f"r{rows} {cols}\n"
