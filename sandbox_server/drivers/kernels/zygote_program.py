"""The zygote of the kernels and their relay, inside the agent's box: `zygote_program.py PACKAGES`.

Most of a kernel's start is imports. This program has done them, and forks (`spawn.zygote`). It ends when packages were
installed since, because a kernel might import those instead; then another zygote is started.
"""

import gc
import os
import site
import sys
from collections.abc import Callable, Mapping, Sequence

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
"""The directory of this package."""

type Seen = Mapping[str, int | None]


def main(packages: str) -> None:
    """Serve as the zygote, or become what it has forked."""
    sys.path[0] = ""  # as in a notebook
    places = [*sys.path[1:], site.getusersitepackages()]
    before = _look(places)
    sys.path += [packages, ROOT]
    from sandbox_server.drivers.kernels import isolated_kernel, launch, relay
    from sandbox_server.drivers.spawn import zygote

    launch.load()
    relay.load()
    sys.path.remove(ROOT)
    gc.collect()
    gc.freeze()  # forked processes then copy fewer pages
    roles: Mapping[str, Callable[..., int | None]] = {
        "kernels/kernel": launch.become,
        "kernels/isolated": isolated_kernel.become,
        "kernels/relay": relay.become,
    }
    words = zygote.serve(lambda: _look(places) != before)
    if words:
        role, *arguments = words
        sys.exit(roles[role](*arguments))


def _look(places: Sequence[str]) -> Seen:
    """Return when packages were last installed or removed in the places that precede the kernels' own packages."""
    return {path: _changed(path) for path in places}


def _changed(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


if __name__ == "__main__":
    main(*sys.argv[1:])
