"""The doctor: which guarantees hold on this host, and how to fix the others."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from sandbox_server.core import Conflict, Failure, Model, Unavailable, operation
from sandbox_server.core.diagnosis import Finding, Probe
from sandbox_server.drivers.browser import renderer_sandbox
from sandbox_server.drivers.browser.renderer_sandbox import RendererSandbox
from sandbox_server.drivers.fence import landlock
from sandbox_server.drivers.fence.policy import (
    EnvPolicy,
    IsolationPolicy,
    LimitsPolicy,
    NetworkPolicy,
    ReadPolicy,
    WritePolicy,
)
from sandbox_server.drivers.spawn.process import NEEDED_FOR_ISOLATION, Processes
from sandbox_server.drivers.stats import system
from sandbox_server.drivers.stats.liveness import Liveness
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.settings import Settings, secret_variables
from sandbox_server.timeouts import scaled

MIN_SHM_BYTES = 256 * 1024 * 1024
"""Below this, Chromium's renderers crash on large pages."""
MIN_FREE_BYTES = 1024**3
PROBE_SECONDS = scaled(5.0)
PREVENTED = (
    "programs that the agent starts show windows, and neither press keys, grab nor see pixels of others; "
    "not prevented: that they list windows, see where the pointer is, and open a window over others"
)
BROWSER_SANDBOXES: dict[RendererSandbox | None, str] = {
    "namespaces": "Chromium has a sandbox of its own",
    "landlock": "in part: Landlock and seccomp-BPF keep Chromium's processes apart, and its namespaces are refused; it shows no files",
    None: "Chromium does not start: its namespaces are refused, and there is no Landlock",
}
"""What each sandbox of Chromium means."""
KEEP_OUT_OF_ENVIRONMENTS = (
    "give no secret as a variable: without SANDBOX_API_KEY boot makes a key in a file, and SECRETS may name a file; "
    "do not run with --init, and where variables have to be used, run with --no-healthcheck"
)
EVERYTHING = IsolationPolicy(
    read=ReadPolicy(deny=("/etc/hostname",)),
    write=WritePolicy(allow=("/tmp",)),
    network=NetworkPolicy(allowed_domains=("example.com",)),
    env=EnvPolicy(allow=()),
    limits=LimitsPolicy(processes=16),
)
"""A policy that needs everything that any policy may need."""


class Check(Model):
    name: str
    status: Literal["holds", "lost", "unknown"]
    detail: str
    """The result of the check."""
    hint: str | None = None
    """How to fix it; null if the guarantee holds, or if nothing can be done about it."""


class Diagnosis(Model):
    checks: list[Check]
    lost: list[str]
    """Names of the failed checks."""


class Doctor:
    """Checks the host from inside on every call.

    `more` are probes of other features. `irremediable` has a sentence, in place of detail and hint, for each check that
    nothing makes hold on this kernel.
    """

    tag = "doctor"

    def __init__(
        self,
        processes: Processes,
        settings: Settings,
        desktop: Desktop,
        liveness: Liveness,
        more: Sequence[Probe] = (),
        *,
        irremediable: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._processes = processes
        self._settings = settings
        self._desktop = desktop
        self._liveness = liveness
        self._more = more
        self._irremediable = irremediable

    @operation("GET /v1/doctor", scope="view")
    async def doctor(self) -> Diagnosis:
        """Check which guarantees hold on this host, with a hint for each that does not."""
        checks = [await self._check(probe) for probe in (*self._probes(), *self._more)]
        return Diagnosis(checks=checks, lost=[check.name for check in checks if check.status == "lost"])

    def _probes(self) -> Sequence[Probe]:
        return (
            Probe("daemons", self._daemons, "they are started anew when they hang; the container's log tells why"),
            Probe("separate_users", self._separate_users, "start the container as root: it drops to three users itself"),
            Probe("environments", self._environments, KEEP_OUT_OF_ENVIRONMENTS),
            Probe("authentication", self._authentication, "unset AUTH=off"),
            Probe("seccomp", _seccomp, "run with --security-opt seccomp=deploy/seccomp/tandem.json"),
            Probe("user_namespaces", self._user_namespaces, "run with --security-opt seccomp=deploy/seccomp/tandem.json"),
            self._of_desktop("browser_sandbox", self._browser_sandbox, "run with --security-opt seccomp=deploy/seccomp/tandem.json"),
            Probe("isolation", self._isolation, NEEDED_FOR_ISOLATION),
            Probe("isolated_signals", _isolated_signals, "needs a host with Linux 6.12 or newer, and Landlock among its security modules"),
            Probe("sudo", self._sudo, "set ALLOW_SUDO=true and do not run with no-new-privileges"),
            Probe("no_raw_packets", _no_raw_packets, "run with --cap-drop NET_RAW"),
            Probe("shared_memory", _shared_memory, "run with --shm-size 1g"),
            Probe("memory_limit", _memory_limit, "run with --memory 4g, so that a hog ends here and not on the host"),
            Probe("process_limit", _process_limit, "run with --pids-limit 4096, so that a fork bomb ends here"),
            self._of_desktop("desktop", self._windows, "read the container's log for lines of Xvfb and openbox"),
            self._of_desktop("untrusted_programs", self._untrusted_programs, "unset X_TRUST_SHELLS, and start the container as root"),
            Probe("disk", self._disk, "free at least 1 GiB for the workspace, or mount a larger volume"),
            Probe("clock", _clock, "start a time service on the host: tokens expire by this clock"),
        )

    async def _check(self, probe: Probe) -> Check:
        try:
            found = await probe.look()
        except (Failure, OSError) as error:
            found = Finding(None, f"could not look: {error}")
        status: Literal["holds", "lost", "unknown"] = "unknown" if found.holds is None else "holds" if found.holds else "lost"
        if not found.holds and (why := self._irremediable.get(probe.name)):
            return Check(name=probe.name, status=status, detail=why)
        return Check(name=probe.name, status=status, detail=found.detail, hint=None if found.holds else probe.hint)

    def _of_desktop(self, name: str, look: Callable[[], Awaitable[Finding]], hint: str) -> Probe:
        """Return a probe of the desktop or the browser, or one that says that there is none."""
        if (absence := self._settings.components.desktop_absence) is None:
            return Probe(name, look, hint)

        async def nothing() -> Finding:
            return Finding(None, absence.reason)

        return Probe(name, nothing, absence.hint)

    async def _daemons(self) -> Finding:
        states = await self._liveness.states()
        return Finding(set(states.values()) <= {"ready"}, ", ".join(f"{name}: {state}" for name, state in states.items()))

    async def _separate_users(self) -> Finding:
        own = system.process_status()["Uid"].split()[0]
        agent = await self._output("id", "-u")
        return Finding(own != agent, f"the server runs as uid {own}, the agent as uid {agent}")

    async def _environments(self) -> Finding:
        done = await self._processes.run(["cat", "/proc/1/environ"], cwd="/", timeout=PROBE_SECONDS, max_output=1 << 16)
        if done.exit.code != 0:
            return Finding(True, "the agent reads the environments of its own programs alone")
        names = {entry.partition(b"=")[0].decode("utf-8", "replace") for entry in done.stdout.split(b"\0")}
        secret = secret_variables(self._settings)
        if shown := [name for name in secret if name in names]:
            return Finding(False, f"the agent reads {', '.join(shown)} in the environment of the first process")
        if secret:
            return Finding(False, f"the agent reads {', '.join(secret)} of what the engine starts in here: docker exec, the health check")
        return Finding(True, "the agent reads the environments of all programs, and none was given a secret")

    async def _authentication(self) -> Finding:
        return Finding(self._settings.auth.mode == "on", f"AUTH is {self._settings.auth.mode}")

    async def _user_namespaces(self) -> Finding:
        made = await self._succeeds("unshare", "--user", "--map-root-user", "true")
        return Finding(made, "the agent can make user namespaces" if made else "making a user namespace is refused")

    async def _browser_sandbox(self) -> Finding:
        if self._settings.browser.no_sandbox:
            return Finding(False, "BROWSER_NO_SANDBOX gives it up")
        found = await renderer_sandbox.available(self._processes, self._settings.browser.executable, PROBE_SECONDS)
        return Finding(found == "namespaces", BROWSER_SANDBOXES[found])

    async def _isolation(self) -> Finding:
        try:
            done = await self._processes.run(["true"], cwd="/", timeout=PROBE_SECONDS, max_output=0, isolation=EVERYTHING)
        except Conflict as refused:
            return Finding(False, refused.message)
        return Finding(done.exit.code == 0, "all of a policy is enforced")

    async def _sudo(self) -> Finding:
        works = await self._succeeds("sudo", "-n", "true")
        return Finding(works, "the agent can become root" if works else "sudo is refused")

    async def _windows(self) -> Finding:
        try:
            width, height = await self._desktop.screen.size()
            manager = await self._desktop.windows.manager()
        except Unavailable as down:
            return Finding(False, down.message)
        return Finding(manager is not None, f"{width}x{height} pixels, windows managed by {manager or 'nobody'}")

    async def _untrusted_programs(self) -> Finding:
        if self._settings.display.trust_shells:
            return Finding(False, "X_TRUST_SHELLS lets the agent's programs drive and watch all windows")
        if not (await self._separate_users()).holds:
            return Finding(False, "the agent's programs can read the cookie of the X server")
        return Finding(True, PREVENTED)

    async def _disk(self) -> Finding:
        room = system.space(self._settings.agent.workspace)
        return Finding(room.free >= MIN_FREE_BYTES, f"{room.free >> 20} MiB free of {room.total >> 20} MiB")

    async def _succeeds(self, *argv: str) -> bool:
        completed = await self._processes.run(argv, timeout=PROBE_SECONDS, max_output=4096)
        return completed.exit.code == 0

    async def _output(self, *argv: str) -> str:
        completed = await self._processes.run(argv, timeout=PROBE_SECONDS, max_output=4096)
        return completed.stdout.decode().strip()


async def _seccomp() -> Finding:
    mode = system.process_status().get("Seccomp", "0")
    return Finding(mode == "2", "a filter is in force" if mode == "2" else "system calls are not filtered")


async def _isolated_signals() -> Finding:
    version = landlock.abi()
    return Finding(version >= landlock.SCOPES_ABI, f"the kernel has Landlock {version}" if version else "the kernel has no Landlock")


async def _no_raw_packets() -> Finding:
    held = system.bounding_capability("NET_RAW")
    return Finding(not held, "root in here can forge packets" if held else "nothing in here can forge packets")


async def _shared_memory() -> Finding:
    room = system.space("/dev/shm")
    return Finding(room.total >= MIN_SHM_BYTES, f"{room.total >> 20} MiB")


async def _memory_limit() -> Finding:
    limit = system.cgroup_limit("memory")
    return Finding(limit is not None, f"{limit >> 20} MiB" if limit else "no limit is visible")


async def _process_limit() -> Finding:
    limit = system.cgroup_limit("pids")
    return Finding(limit is not None, f"{limit} processes" if limit else "no limit is visible")


async def _clock() -> Finding:
    kept = system.clock_synchronised()
    return Finding(kept, "the host keeps it in step" if kept else "the kernel says that it is not synchronised")
