"""Fences itself and becomes `bash -c TEXT`: how a shell session runs an isolated command.

Arguments: the descriptor with the environment in the format of `env -0`, the directory that must stay hidden, the
policy as JSON, the text. If a part of the policy cannot be enforced, it says so on both outputs, as JSON on standard
output if that is no terminal, and exits with `REFUSED`.
"""

import json
import os
import pwd
import sys
from collections.abc import Sequence

from sandbox_server.drivers.fence import policy
from sandbox_server.drivers.fence.fence import Fence, FenceError

REFUSED = 125
"""The exit status that means that nothing was run."""


def environment(fd: int) -> dict[str, str]:
    """Parse the output of `env -0`."""
    with open(fd, "rb") as file:
        entries = file.read().split(b"\0")
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs}


def main(arguments: Sequence[str]) -> int:
    """Run the text isolated. Returns only if that is not possible."""
    fd, private, encoded, text = arguments
    given = environment(int(fd))
    asked, home = policy.decode(json.loads(encoded)), pwd.getpwuid(os.getuid()).pw_dir
    fence = Fence(asked, cwd=os.getcwd(), home=home, private=private)
    try:
        fence.separate(lambda: None)
        os.chdir(os.getcwd())
        fence.close()
        os.execvpe("bash", ["bash", "-c", "--", text], {"PATH": os.defpath} | fence.environment(given))
    except FenceError as error:
        refusal = {"error": error.errno, "field": error.field, "message": error.strerror}
    except OSError as error:
        refusal = {"error": error.errno, "field": "read.allow", "message": f"bash cannot be executed: {error.strerror}"}
    if not sys.stdout.isatty():
        sys.stdout.write(json.dumps(refusal))
    sys.stderr.write(f"isolation.{refusal['field']} cannot be enforced here: {refusal['message']}; nothing was run\n")
    return REFUSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
