"""What the container was given, its keys among it, is kept from the environment of every process that lives on.

The first step of the container is this file itself, with as little of Python as can be: it puts its environment into memory that has no
name and becomes the process that reaps, whose environment is a clean one. Linux shows a process's first environment in `/proc/PID/environ`
for as long as it lives, and not every kernel asks who reads there. Boot takes the environment out of that memory, and empties it.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # each import counts here
    from collections.abc import Mapping, MutableMapping

VARIABLE = "SANDBOX_ENVIRON_FD"
"""Names the descriptor of that memory."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT = ("/usr/bin/tini", "--", "/opt/venv/bin/python", "-I", "-m", "sandbox_server", "boot")


def hide(environ: "Mapping[str, str]") -> dict[str, str]:
    """Put an environment into memory, and give the one in its place."""
    memory = os.memfd_create("given")
    content = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environ.items())
    while content:
        content = content[os.write(memory, content) :]
    os.set_inheritable(memory, True)
    return {"LANG": "C.UTF-8", "PATH": PATH, VARIABLE: str(memory)}


def take(environ: "MutableMapping[str, str]") -> dict[str, str]:
    """Take out what was hidden, so that nobody finds it there again; without a first step, it is this environment itself."""
    descriptor = environ.pop(VARIABLE, "")
    if not descriptor:
        return dict(environ)
    with open(int(descriptor), "r+b") as memory:
        memory.seek(0)
        entries = os.fsdecode(memory.read()).split("\0")
        memory.truncate(0)
    return {name: value for name, _, value in (entry.partition("=") for entry in entries) if name}


if __name__ == "__main__":
    os.execve(BOOT[0], BOOT, hide(os.environ))
