"""The forward proxy as features use it: one plan, kept over restarts, that HAProxy, the browser and new processes follow."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from sandbox_server.core.errors import Conflict, DeadlineExceeded, Failure, Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.proxy.configuration import configuration
from sandbox_server.drivers.proxy.haproxy import Haproxy
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan, configured, restored, stored
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.spawn.process_environment import ProcessEnvironment
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.settings.kinds import Secret
from sandbox_server.settings.proxy import ProxySettings as Settings

AUTH_SECONDS = 20.0
"""For the command that writes credentials."""
REFRESH_SECONDS = 300.0
"""Between two runs of it: what it writes may be good for a short time."""
MAX_CREDENTIALS = 16 << 10

log = logging.getLogger(__name__)


class EgressUpstream(Protocol):
    """By what proxy connections leave the box's network; `egress_upstream.EgressUpstreamClient` is one."""

    async def use(self, plan: ProxyPlan) -> None: ...


class ProxiedBrowser(Protocol):
    """What has to be told where the proxy is; `drivers.browser.browser_client.BrowserClient` is one."""

    async def use_proxy(self, address: str | None) -> None: ...


def load(settings: Settings, file: JsonFile) -> ProxyPlan:
    """The plan as it was left, or else as the variables have it."""
    try:
        value = file.read()
        return restored(value) if value else configured(settings)
    except (OSError, KeyError, TypeError, ValueError) as error:
        log.warning("what was kept of the proxy cannot be read: %s", type(error).__name__)
        return configured(settings)


class ForwardProxy:
    """Keeps the plan. `environment` points new processes at the proxy while there is something for it to do."""

    def __init__(
        self,
        settings: Settings,
        file: JsonFile,
        haproxy: Haproxy,
        processes: Processes,
        environment: ProcessEnvironment,
        browser: ProxiedBrowser | None,
        *,
        enabled: bool = True,
        egress: EgressUpstream | None = None,
    ) -> None:
        """With `egress` the proxy is in the box's network, and what leaves that goes to the upstream by itself."""
        self._settings = settings
        self._egress = egress
        self._file = file
        self._haproxy = haproxy
        self._processes = processes
        self._environment = environment
        self._browser = browser
        self._enabled = enabled
        self._changing = asyncio.Lock()
        self._tasks = Tasks()
        self._known: frozenset[str] = frozenset()
        self.plan = ProxyPlan()
        self.address = settings.address

    async def __aenter__(self) -> Self:
        self.plan = load(self._settings, self._file)
        if self.plan.in_use and self._enabled:
            self._point()
            await self._resume()
        elif self._egress:
            self._tasks.start(self._leave_directly(self._egress), name="egress upstream")
        self._tasks.start(self._refresh(), name="proxy credentials")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def change(self, alter: Callable[[ProxyPlan], ProxyPlan]) -> ProxyPlan:
        """Follow another plan from now on; nothing changes where the proxy cannot follow it.

        Raises Conflict (the command for credentials fails) and Unavailable.
        """
        if not self._enabled:
            raise Unavailable("there is no proxy here: DISABLE_PROXY is set")
        async with self._changing:
            plan, before = alter(self.plan), self.plan
            if plan.auth_command and (plan.auth_command, plan.upstream) != (before.auth_command, before.upstream):
                plan = await self._authenticated(plan)
            await self._serve(plan)
            self._file.write(stored(plan))
            self.plan = plan
            self._point()
            if self._browser and plan.in_use != before.in_use:
                await self._browser.use_proxy(self.address if plan.in_use else None)
            return plan

    def way(self, host: str) -> str | None:
        """Where the proxy listens, if it would ask the upstream for this host."""
        return self.address if self._enabled and self.plan.to_upstream(host) else None

    async def state(self) -> tuple[bool, bool]:
        """Whether the proxy is there, and whether what it was told is the plan; one that nobody has used yet waits."""
        if self._haproxy.waits():
            return True, not self.plan.in_use
        return await self._haproxy.alive(), self._haproxy.has(self._configuration(self.plan))

    async def _serve(self, plan: ProxyPlan) -> None:
        """Have the proxy follow a plan. Processes that were pointed at it go on using it when there is nothing to do any more."""
        if self._egress:
            await self._egress.use(plan)
        if plan.in_use or not self._haproxy.waits():
            await self._haproxy.apply(self._configuration(plan))
            self._known = await self._places(plan)

    def _configuration(self, plan: ProxyPlan) -> str:
        return configuration(replace(plan, upstream=None) if self._egress else plan, self._settings.port)

    def _point(self) -> None:
        self._environment.replace(self._settings.environment if self.plan.in_use else {})

    async def _resume(self) -> None:
        """Serve again by the plan that there was; the process that owns the browser reads by itself that there is one."""
        try:
            await self._serve(self.plan)
            if self.plan.auth_command:
                self._tasks.start(self._renew(), name="proxy credentials")
        except Failure as failure:
            log.warning("%s", failure)

    async def _leave_directly(self, egress: EgressUpstream) -> None:
        """Have the egress process forget an upstream of before."""
        async with self._changing:
            with contextlib.suppress(Failure):
                await egress.use(self.plan)

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            if self.plan.auth_command:
                await self._renew()
            if self.plan.in_use and await self._places(self.plan) != self._known:
                await self._look_up()

    async def _look_up(self) -> None:
        """Let the proxy find the hosts where they are now; it looks them up only when it reads its configuration."""
        try:
            async with self._changing:
                self._known = await self._places(self.plan)
                await self._haproxy.reload()
        except Failure as failure:
            log.warning("%s", failure)

    async def _places(self, plan: ProxyPlan) -> frozenset[str]:
        """The addresses of all hosts that the proxy connects to by name."""
        hosts = {route.target_host for route in plan.routes} | ({plan.upstream.host} if plan.upstream else set())
        found: set[str] = set()
        for host in hosts:
            with contextlib.suppress(OSError, UnicodeError):
                found |= {str(place[0]) for *_, place in await asyncio.get_running_loop().getaddrinfo(host, None)}
        return frozenset(found)

    async def _renew(self) -> None:
        """Ask for credentials anew; those that there are stay where that fails."""
        async with self._changing:
            try:
                plan = await self._authenticated(self.plan)
                await self._serve(plan)
                self.plan = plan
            except Failure as failure:
                log.warning("the upstream proxy's credentials are not renewed: %s", failure)

    async def _authenticated(self, plan: ProxyPlan) -> ProxyPlan:
        """Run the command for credentials, where the agent sees neither it nor what it writes."""
        if plan.upstream is None or plan.auth_command is None:
            return plan
        command = ["/bin/sh", "-c", plan.auth_command]
        try:
            done = await self._processes.run(command, user="desktop", cwd="/", timeout=AUTH_SECONDS, max_output=MAX_CREDENTIALS)
        except DeadlineExceeded:
            raise Conflict(f"the command for the upstream proxy's credentials takes more than {AUTH_SECONDS:g} s") from None
        if done.exit.code != 0 or done.truncated:
            raise Conflict("the command for the upstream proxy's credentials fails", exit_code=done.exit.code)
        text = ""
        with contextlib.suppress(UnicodeDecodeError):
            text = done.stdout.decode().strip()
        username, colon, password = text.partition(":")
        if not colon or "\n" in text:
            raise Conflict("the command for the upstream proxy's credentials does not write user:password")
        return replace(plan, upstream=replace(plan.upstream, username=username, password=Secret(password)))
