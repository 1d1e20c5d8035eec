"""`sandbox snapshot`: what root in the container does before a snapshot of the whole memory, and after.

The engine makes the snapshot from outside. `prepare` closes every way in and the connections that are open. `release` lets the origin go
on. `bind` makes a restored copy another computer: it writes what identifies a computer anew, and has the API read it.
"""

import json
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from sandbox_server import settings as declared
from sandbox_server.boot import trusted_files
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.snapshots.connections import OuterConnection, outer_connections
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.settings import BadSettings, Settings
from sandbox_server.timeouts import scaled

PROGRAMS = ("gateway", "box-gateway", "mcp", "stream", "egress")
"""What has connections to the outside, or keeps keys of its own in memory. Stopped before, and started anew after."""
FIRST = ("gateway", "box-gateway", "egress")
"""Of those, what answers calls. The others take seconds of the processor for their start."""
JWT_VARIABLES = ("JWT_PUBLIC_KEY", "JWT_JWKS_URL", "JWT_JWKS_FILE", "JWT_AUDIENCE", "JWT_ISSUER")
FIELDS = frozenset({"sandbox_id", "api_key", "agent_key", "identity_key", *JWT_VARIABLES})
"""What `bind` may be given."""
KEYS = frozenset({"api_key", "agent_key"})
"""Of those, what opens the API."""
DERIVED = ("agent-keys.json", "shares.json", "revoked.json", "secrets.json", "session-key", "api-key", "agent-key", "placeholder-key")
"""Files of the keyring's directory that open the origin."""
MAX_GIVEN = 64 << 10
ANSWER_SECONDS = scaled(60.0)
QUIET_SECONDS = 10.0
"""Seconds for connections to end after their programs were stopped."""
GATEWAY_SECONDS = scaled(60.0)
POLL_SECONDS = 0.05
MIN_KEY_CHARS = 16


class Refused(Exception):
    """What was asked is not done; the message says why."""


def run(what: str, load: Callable[[], Settings], *, token: str, given: BinaryIO) -> None:
    """Do it, and print one JSON object. Exits with 1 and the reason if it is refused."""
    try:
        settings = load()
        programs = Programs(f"{settings.paths.boot}/supervisor.sock")
        if what == "prepare":
            told = prepare(settings, programs)
        elif what == "release":
            told = release(settings, programs, token)
        else:
            told = bind(settings, programs, read(given))
    except (Refused, BadSettings, OSError) as error:
        sys.exit(f"sandbox snapshot: {error}")
    sys.stdout.write(f"{json.dumps(told)}\n")


class Programs:
    """The supervisor's programs."""

    def __init__(self, path: str) -> None:
        self._path = path

    def stop(self, names: tuple[str, ...]) -> None:
        """Stop those that run, and wait for their end."""
        for name in self._known(names):
            self._call("supervisor.stopProcess", name, True)

    def start(self, names: tuple[str, ...]) -> None:
        """Start those that are stopped."""
        for name in self._known(names):
            self._call("supervisor.startProcess", name, False)

    def _known(self, names: tuple[str, ...]) -> list[str]:
        states: Any = self._call("supervisor.getAllProcessInfo")
        return [each["name"] for each in states if each["name"] in names]

    def _call(self, method: str, *arguments: object) -> object:
        import xmlrpc.client  # slow, and for this command alone

        from supervisor.xmlrpc import Faults, SupervisorTransport

        with xmlrpc.client.ServerProxy("http://localhost", SupervisorTransport(serverurl=f"unix://{self._path}")) as server:
            try:
                return getattr(server, method)(*arguments)
            except xmlrpc.client.Fault as fault:
                if fault.faultCode in (Faults.NOT_RUNNING, Faults.ALREADY_STARTED):
                    return None
                raise Refused(f"{method} {arguments}: {fault.faultString}") from None


def prepare(
    settings: Settings,
    programs: Programs,
    connections: Callable[[], list[OuterConnection]] = outer_connections,
    seconds: float = QUIET_SECONDS,
) -> dict[str, object]:
    """Answer nothing any more, and let go of the outside. Returns the snapshot, the token for `release`, and what is left connected."""
    prepared = ask(settings, "prepare")
    try:
        programs.stop(PROGRAMS)
    except BaseException:
        release(settings, programs, prepared["token"])
        raise
    deadline = time.monotonic() + seconds
    while (left := connections()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return {**prepared, "left_connected": [asdict(each) for each in left]}


def release(settings: Settings, programs: Programs, token: str) -> dict[str, object]:
    """Go on as what it was."""
    released = ask(settings, "release", token=token)
    open_again(settings, programs)
    return released


def bind(settings: Settings, programs: Programs, given: Mapping[str, str]) -> dict[str, object]:
    """Become another computer. Returns its id and keys. Raises Refused where a part of the identity is the origin's."""
    status = ask(settings, "status")
    if status["snapshot"] is None:
        raise Refused("not prepared for a snapshot: an origin keeps its identity, and a copy is bound once")
    environ = _environ(settings)
    require_new(settings, environ, given, status["sandbox_id"])
    key = renew_files(settings, environ, given)
    bound = ask(settings, "bind")
    open_again(settings, programs)
    return {**bound, "api_key": key, "agent_key": Keyring(settings.paths.run, settings.paths.agent_run).read("agent-key")}


def open_again(settings: Settings, programs: Programs, seconds: float = GATEWAY_SECONDS) -> None:
    """Start the gateway, wait until it accepts connections, and then start the rest. Raises Refused if it does not in time."""
    programs.start(FIRST)
    deadline = time.monotonic() + seconds
    while True:
        try:
            with _connected(settings.paths.socket("gateway")):
                return programs.start(PROGRAMS)
        except Refused:
            if time.monotonic() > deadline:
                raise Refused("the gateway does not start: the container's log says why") from None
        time.sleep(POLL_SECONDS)


def read(file: BinaryIO) -> dict[str, str]:
    """Read the identity that is given. Raises Refused."""
    text = file.read(MAX_GIVEN + 1)
    try:
        found = json.loads(text or b"{}")
    except (ValueError, RecursionError):
        raise Refused("the identity must be a JSON object in UTF-8") from None
    if len(text) > MAX_GIVEN or not isinstance(found, dict) or not all(isinstance(each, str) and each for each in found.values()):
        raise Refused(f"the identity must be a JSON object of texts, with at most {MAX_GIVEN} bytes")
    if unknown := sorted(found.keys() - FIELDS):
        raise Refused(f"the identity has no {', '.join(unknown)}; known are {', '.join(sorted(FIELDS))}")
    return found


def require_new(settings: Settings, environ: Mapping[str, str], given: Mapping[str, str], origin: str) -> None:
    """Raise Refused where what is given would open the origin as well, or be taken for it."""
    ring = Keyring(settings.paths.run, settings.paths.agent_run)
    configured = {environ.get(name, "").strip() for name in ("SANDBOX_API_KEY", "SANDBOX_AGENT_KEY")}
    old = configured | {ring.read(name) for name in ("api-key", "agent-key", "agent-token", "session-key")}
    for name in KEYS & given.keys():
        if len(given[name]) < MIN_KEY_CHARS:
            raise Refused(f"{name} has less than {MIN_KEY_CHARS} characters")
        if given[name].strip() in old:
            raise Refused(f"{name} is the origin's")
    if "agent_key" in given and given["agent_key"].strip() == given.get("api_key", "").strip():
        raise Refused("agent_key is api_key: the agent would be the owner")
    if given.get("sandbox_id") == origin:
        raise Refused("sandbox_id is the origin's")
    audience = given.get("JWT_AUDIENCE")
    if any(name in given for name in JWT_VARIABLES[:3]) and (not audience or audience == environ.get("JWT_AUDIENCE")):
        raise Refused(
            "JWT_AUDIENCE must be given with the keys of tokens, and be another than the origin's, whose tokens it takes otherwise"
        )
    if "identity_key" in given and given["identity_key"].split() == _signing_key_of(settings).split() and not settings.identity.key_file:
        raise Refused("identity_key is the origin's")


def renew_files(settings: Settings, environ: Mapping[str, str], given: Mapping[str, str]) -> str | None:
    """Write what identifies the computer anew. Returns the API key; None with `AUTH=off`. It may be done again after a failure."""
    paths, control = settings.paths, (settings.users.control_uid, settings.users.control_uid)
    kept = {name: value for name, value in declared.without_secrets(environ).items() if name not in (*JWT_VARIABLES, "IDENTITY_SANDBOX_ID")}
    written = {**kept, **{name: given[name] for name in JWT_VARIABLES if name in given}}
    trusted_files.check(declared.load(written))
    atomic_write.replace(paths.environ, json.dumps(written), mode=0o400, owner=control)
    atomic_write.replace(
        paths.public_environ, json.dumps(declared.without_secrets(written)), mode=0o400, owner=(os.geteuid(), os.getegid())
    )
    for name in DERIVED:
        Path(paths.run, name).unlink(missing_ok=True)
    ring = Keyring(paths.run, paths.agent_run)
    shutil.rmtree(ring.tickets, ignore_errors=True)
    if "api_key" in given:
        atomic_write.replace(f"{paths.run}/api-key", f"{given['api_key']}\n", owner=control)
    ring.prepare(control, (settings.agent.uid, settings.agent.gid), with_api_key=settings.auth.mode == "on")
    if settings.auth.mode == "on":
        ring.keep_agent_key(control, given.get("agent_key"))
    _renew_identity(settings, given, control)
    return ring.read("api-key")


def _renew_identity(settings: Settings, given: Mapping[str, str], control: tuple[int, int]) -> None:
    """Write the id and the signing key. The tenant stays: what the copy remembers is the tenant's."""
    from sandbox_server.drivers.workload_identity.signing_keys import stored_key  # a slow import

    paths = settings.paths
    found = JsonFile(f"{paths.run}/identity.json").read() or {}
    before = found.get("binding") or {}
    after: dict[str, Any] = {"tenant": before.get("tenant"), "task": None, "labels": {}, "bound_at": before.get("bound_at"), "version": 0}
    binding = {**after, "version": before["version"] + 1} if after["tenant"] else {**after, "bound_at": None}
    content = json.dumps({"id": given.get("sandbox_id") or secrets.token_hex(8), "binding": binding})
    atomic_write.replace(f"{paths.run}/identity.json", content, owner=control)
    try:
        made = stored_key(given.get("identity_key"))
    except ValueError as error:
        raise Refused(f"identity_key: {error}") from None
    if settings.identity.key_file is None:
        atomic_write.replace(f"{paths.run}/identity-keys.json", made, owner=control)
    elif "identity_key" in given:
        atomic_write.replace(paths.identity_key, given["identity_key"], mode=0o400, owner=control)


def _signing_key_of(settings: Settings) -> str:
    found = JsonFile(f"{settings.paths.run}/identity-keys.json").read() or {}
    return str(found.get("private", ""))


def _environ(settings: Settings) -> dict[str, str]:
    return dict(JsonFile(settings.paths.environ).read() or {})


def ask(settings: Settings, operation: str, **fields: str) -> dict[str, Any]:
    """Ask the API. Raises Refused."""
    with _connected(settings.paths.socket("snapshot")) as connection:
        connection.sendall(json.dumps({"op": operation, **fields}).encode() + b"\n")
        with connection.makefile("rb") as answers:
            answer = json.loads(answers.readline() or b"{}")
    if "ok" not in answer:
        raise Refused(str(answer.get("refused", "the API gave no answer")))
    found: dict[str, Any] = answer["ok"]
    return found


@contextmanager
def _connected(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(path)
        except OSError as error:
            raise Refused(f"{path} does not answer: {error.strerror}: it is still starting, or you are not root") from None
        yield connection
