"""The container's first step: it hides the container's environment, which holds keys, from `/proc/PID/environ`.

Linux shows a process's initial environment there for its whole life, and not every kernel checks who reads it. So this
file copies the environment into anonymous memory (memfd) and executes the reaping process with a clean one. Boot reads
that memory and empties it. The file runs with as few imports as possible.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # each import costs start-up time
    from collections.abc import Mapping, MutableMapping

VARIABLE = "SANDBOX_ENVIRON_FD"
"""The variable that names the descriptor of that memory."""
SHOWN = ("TIMEOUT_FACTOR",)
"""What stays in the environment: boot's own modules read it when they are imported (`sandbox_server.timeouts`)."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT = ("/usr/bin/tini", "--", "/opt/venv/bin/python", "-I", "-m", "sandbox_server", "boot")


def hide(environ: "Mapping[str, str]") -> dict[str, str]:
    """Copy an environment into anonymous memory, and return the environment to use in its place."""
    memory = os.memfd_create("given")
    os.fchmod(memory, 0o600)  # gVisor shows everybody the way to it
    content = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environ.items())
    while content:
        content = content[os.write(memory, content) :]
    os.set_inheritable(memory, True)
    shown = {name: environ[name] for name in SHOWN if name in environ}
    return {"LANG": "C.UTF-8", "PATH": PATH, VARIABLE: str(memory)} | shown


def take(environ: "MutableMapping[str, str]") -> dict[str, str]:
    """Read the hidden environment and empty the memory. Without a first step, returns `environ` itself."""
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
