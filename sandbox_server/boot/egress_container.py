"""The egress container: it owns the network namespace of a sandbox container, makes the rules there, and decides.

It is a container of the same image with `--cap-add NET_ADMIN`; the sandbox container joins its network without any capability over
it. Sockets are exempt by a mark, which takes such a capability, so the rules hold against root in the sandbox container too.
"""

import asyncio
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from sandbox_server.boot import egress
from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.egress import container_rules
from sandbox_server.drivers.egress.network_namespace import RESOLVER, EgressNamespace, NetworkNamespaceError
from sandbox_server.egress import app
from sandbox_server.settings import BadSettings, Settings

EXIT_BAD_SETTINGS = 2
EXIT_NO_RULES = 5
RESTART_SECONDS = 0.2
RESOLV_CONF = "/etc/resolv.conf"
NEEDED = "run with --cap-add NET_ADMIN --cap-add SETUID --cap-add SETGID, as root"


def run(settings: Settings) -> NoReturn:
    """Make the rules, then serve until SIGTERM; the process that serves is started anew when it ends."""
    try:
        policy = egress.source_of(settings)
        made = _make(settings)
    except BadSettings as error:
        _stop(EXIT_BAD_SETTINGS, f"the settings are wrong:\n{error}")
    except NetworkNamespaceError as error:
        _stop(EXIT_NO_RULES, str(error))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    _say("the rules are made: every connection from this network is decided here")
    while True:
        _serve_once(settings, made, policy)
        time.sleep(RESTART_SECONDS)


def _make(settings: Settings) -> EgressNamespace:
    if not container_rules.may_make():
        raise NetworkNamespaceError(f"the rules cannot be made: {NEEDED}")
    if settings.egress.nameservers:
        text = "".join(f"nameserver {one}\n" for one in settings.egress.nameservers)
        Path(RESOLV_CONF).write_text(text, encoding="ascii")  # in place: engines mount it
    asked = nameservers(RESOLV_CONF)
    if RESOLVER in asked:
        _say("names outside of this Docker network are not resolved: its resolver asks from within the network; set EGRESS_NAMESERVERS")
    exempt = container_rules.exempt_questions(settings.users.egress_uid, asked)
    return container_rules.make(container_rules.exempt_mark(), *exempt)


def nameservers(path: str) -> list[str]:
    """Return the addresses of the nameservers that a file names (resolv.conf(5))."""
    lines = [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]


def _serve_once(settings: Settings, made: EgressNamespace, policy: str) -> None:
    """Serve in a process of another user's, which keeps nothing but the right to mark its sockets."""
    parent, pid = os.getpid(), os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        namespaces.end_with(parent)
        container_rules.become(settings.users.egress_uid)
        namespaces.forbid_tracing()
        _serve(made, policy)
    except Exception as error:  # noqa: BLE001 - the top of a forked process
        _say(f"{type(error).__name__}: {error}")
    finally:
        os._exit(1)


def _serve(made: EgressNamespace, policy: str) -> None:
    folder = tempfile.mkdtemp(prefix="egress-")
    Path(folder, "policy.json").write_text(policy, encoding="utf-8")
    arguments = ["--policy", f"{folder}/policy.json", "--names", f"{folder}/names", "--control", f"{folder}/control.sock"]
    for option in ("connections", "packets", "queries", "log", "owners"):
        for descriptor in getattr(made, option):
            arguments += [f"--{option}", str(descriptor)]
    arguments += ["--mark", str(container_rules.MARK), "--print-events"]
    asyncio.run(app.run(app.parser().parse_args(arguments)))


def _end(_: int, __: FrameType | None) -> NoReturn:
    os._exit(0)


def _say(message: str) -> None:
    sys.stderr.write(f"egress container: {message}\n")


def _stop(status: int, message: str) -> NoReturn:
    _say(message)
    sys.exit(status)
