"""A container of the image under test, driven from outside through the engine's client."""

import io
import json
import os
import shlex
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from sandbox_server import timeouts
from tests.patience import PATIENCE_SECONDS, until

KEY = "the-key-of-the-image-tests"
PAINTED = "new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))"
"""An expression that a page has once it is painted: Chromium drops clicks and keys that come before, which no answer tells."""
PROFILE = "deploy/seccomp/tandem.json"
GVISOR = os.environ.get("TANDEM_RUNTIME", "")
"""The engine's runtime for gVisor, where every sandbox is to run under it."""
FACTOR = {name: value for name, value in os.environ.items() if name == timeouts.VARIABLE}
"""What `scripts/test` has measured, for every sandbox."""


@dataclass(frozen=True)
class Completed:
    """How a command ended, and what it wrote."""

    code: int
    stdout: str
    stderr: str


def engine(*arguments: str, timeout: float = 300.0, stdin: bytes = b"") -> Completed:
    """Run the engine's client."""
    done = subprocess.run(["docker", *arguments], input=stdin, capture_output=True, timeout=timeout, check=False)
    return Completed(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def _client() -> httpx.Client:
    """A client that keeps no cookies: one test must not sign another in."""
    refusing = CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
    return httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False, cookies=refusing)


@dataclass(frozen=True)
class Sandbox:
    """One container, reached by its name on the network of this test run."""

    name: str
    api_key: str = KEY
    port: int = 8080
    http: httpx.Client = field(default_factory=_client)

    @property
    def base_url(self) -> str:
        """Where its gateway answers."""
        return f"http://{self.name}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """What signs a request in."""
        return {"Authorization": f"Bearer {self.api_key}"}

    def for_agent(self) -> "Sandbox":
        """The same, as an agent has it: by the key that is there for one from the start."""
        key = self.exec("cat", "/run/sandbox/agent-key")
        assert key.code == 0, key.stderr
        return replace(self, api_key=key.stdout.strip())

    def restart(self) -> None:
        """Stop the container and start it again."""
        done = engine("restart", self.name)
        assert done.code == 0, done.stderr
        self.wait_ready()

    def request(self, method: str, path: str, **more: object) -> httpx.Response:
        """Send a signed request."""
        given = more.pop("headers", {})
        headers = self.headers | dict(given if isinstance(given, Mapping) else {})
        return self.http.request(method, f"{self.base_url}{path}", headers=headers, **more)  # type: ignore[arg-type] # passed through

    def events(self, path: str, body: dict[str, Any], last_event_id: str = "") -> Iterator[tuple[str, str, Any]]:
        """Post, and give id, name and data of each server-sent event."""
        headers = self.headers | {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
        with self.http.stream("POST", f"{self.base_url}{path}", headers=headers, json=body) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            fields: dict[str, str] = {}
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                fields[name] = value
                if not line and "event" in fields:
                    yield fields["id"], fields["event"], json.loads(fields["data"])
                    fields = {}

    def exec(self, *argv: str, user: str = "root", timeout: float = 300.0) -> Completed:
        """Run a command in the container, beside the API and without it."""
        return engine("exec", "--user", user, self.name, *argv, timeout=timeout)

    def run(self, *argv: str, user: str = "gem") -> Completed:
        """Run a command where the agent lives, which may be a box, through the API."""
        command = shlex.join(["sudo", *argv] if user == "root" else argv)
        reply = self.request("POST", "/v1/bash/exec", json={"command": command})
        assert reply.status_code == 200, reply.text
        done = reply.json()["data"]
        return Completed(done["exit_code"], done["stdout"], done["stderr"])

    def show(self, url: str) -> None:
        """Load a page, and wait until it is painted."""
        self.request("POST", "/v1/browser/page/navigate", json={"url": url}).raise_for_status()
        self.request("POST", "/v1/browser/page/evaluate", json={"expression": PAINTED}).raise_for_status()

    def logs(self) -> str:
        """Everything that it has written."""
        done = engine("logs", self.name)
        return done.stdout + done.stderr

    def stop(self, timeout: int = 60) -> float:
        """Stop it as an orchestrator does; the seconds that it took."""
        before = time.monotonic()
        engine("stop", "--time", str(timeout), self.name, timeout=timeout + 30)
        return time.monotonic() - before

    def inspect(self, template: str) -> str:
        """A fact that the engine knows, as a Go template asks for it."""
        return engine("inspect", "--format", template, self.name).stdout.strip()

    def answers(self, path: str = "/healthz") -> bool:
        """Whether a GET without credentials is answered well."""
        try:
            return self.http.get(f"{self.base_url}{path}", timeout=10).is_success
        except httpx.TransportError:
            return False

    def wait_ready(self) -> None:
        """Return once every component is ready."""
        ready = [False]

        def is_told() -> bool:
            ready[0] = self.answers("/readyz")
            return ready[0] or self.inspect("{{.State.Running}}") == "false"

        until(is_told, told=self._unready)
        assert ready[0], self.logs()

    def _unready(self) -> str:
        """What is not ready, and everything that it has written."""
        try:
            states = self.request("GET", "/readyz", timeout=10).text
        except httpx.TransportError as error:
            states = repr(error)
        return f"{states} {self.logs()}"


class Launcher:
    """Starts containers as the README says, and removes every one of them.

    With `boxed` False it does as a host that allows no box, with `plain` as `docker run` without any flag. Under gVisor no flag makes
    a difference.
    """

    def __init__(self, image: str, run: str, prefix: str, *, boxed: bool = True, plain: bool = False) -> None:
        self.boxed = boxed
        self.plain = plain
        self._image = image
        self._run = run
        self._prefix = prefix
        self._started: list[Sandbox] = []
        self._made: list[tuple[Sandbox, Callable[[], None]]] = []
        self._networks: list[str] = []

    def start(
        self,
        env: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
        files: Mapping[str, str] | None = None,
        *,
        ready: bool = True,
        port: int = 8080,
    ) -> Sandbox:
        """Start a container.

        `env` is added to a key for the API (give `SANDBOX_API_KEY` as an empty string for none), `args` go to the engine
        before the image, `files` are written into it before it starts, and without `ready` it is not waited for.
        """
        given = {"SANDBOX_API_KEY": KEY} | FACTOR | dict(env or {})
        sandbox = Sandbox(f"{self._run}-{self._prefix}-{len(self._started)}", given["SANDBOX_API_KEY"], port)
        self._started.append(sandbox)
        create = partial(self._create, sandbox.name, given, args, files or {})
        self._made.append((sandbox, create))
        create()
        if ready:
            sandbox.wait_ready()
        return sandbox

    def mend(self, well: Callable[[Sandbox], None], may_replace: Callable[[], bool]) -> None:
        """Start those that are not ready anew, by their names and as they were started, where that may be; tell of those that are."""
        for sandbox, create in self._made:
            if sandbox.answers("/readyz"):
                well(sandbox)
            elif may_replace():
                engine("rm", "--force", "--volumes", sandbox.name)
                create()
                sandbox.wait_ready()

    def beside(self, command: Sequence[str], *args: str, network: str | None = None) -> str:
        """Start a container of the image that runs a command in the sandbox's place, and give its name; `args` go to the engine."""
        name = f"{self._run}-{self._prefix}-{len(self._started)}"
        self._started.append(Sandbox(name))
        labelled = ["--detach", "--name", name, "--label", f"tandem.test={self._run}", "--network", network or self._run]
        started = engine("run", *labelled, *args, "--entrypoint", command[0], self._image, *command[1:])
        assert started.code == 0, started.stderr
        return name

    def network(self, *args: str) -> str:
        """Make a network beside that of this test run, and give its name; `args` go to the engine."""
        name = f"{self._run}-{self._prefix}-network-{len(self._networks)}"
        made = engine("network", "create", "--label", f"tandem.test={self._run}", *args, name)
        assert made.code == 0, made.stderr
        self._networks.append(name)
        return name

    def _create(self, name: str, env: Mapping[str, str], args: Sequence[str], files: Mapping[str, str]) -> None:
        created = engine("create", *self._options(name), *(f"--env={key}={value}" for key, value in env.items()), *args, self._image)
        assert created.code == 0, created.stderr
        if files:
            copied = engine("cp", "-", f"{name}:/", stdin=_archive(files))
            assert copied.code == 0, copied.stderr
        started = engine("start", name)
        assert started.code == 0, started.stderr

    def _options(self, name: str) -> list[str]:
        named = ["--name", name, "--label", f"tandem.test={self._run}", "--network", self._run]
        if GVISOR:
            return [*named, f"--runtime={GVISOR}", "--no-healthcheck", "--shm-size=1g", *self._neighbours()]
        if self.plain:
            return named
        box = ["--security-opt=systempaths=unconfined"] if self.boxed else []
        return [*named, f"--security-opt=seccomp={PROFILE}", *box, "--cap-drop=NET_RAW", "--pids-limit=4096", "--shm-size=1g"]

    def _neighbours(self) -> list[str]:
        """The containers of this test run by their names: gVisor's network does not reach the engine's resolver."""
        listed = "{{range .Containers}}{{.Name}}:{{.IPv4Address}} {{end}}"
        found = engine("network", "inspect", self._run, "--format", listed).stdout.split()
        return [f"--add-host={each.partition('/')[0]}" for each in found]

    def remove(self) -> None:
        """Remove every container that was started, and every network that was made."""
        for sandbox in self._started:
            sandbox.http.close()
            engine("rm", "--force", "--volumes", sandbox.name)
        for network in self._networks:
            engine("network", "rm", network)
        self._started.clear()
        self._networks.clear()


def _archive(files: Mapping[str, str]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for path, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(content), 0o755 if text.startswith("#!") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()
