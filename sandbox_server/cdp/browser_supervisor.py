"""Supervision of Chromium: it starts on demand, and restarts with its tabs after a crash."""

import asyncio
import logging
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from sandbox_server.cdp.browser_connection import COMMAND_TIMEOUT, BrowserLink, CommandRefused
from sandbox_server.cdp.browser_watch import STARTING, Thaw, bury, feel_pulse, first_word, stay_awake
from sandbox_server.cdp.command_rules import ClientRules
from sandbox_server.cdp.devtools_clients import BrowserEvent
from sandbox_server.cdp.input_echo import DevtoolsInputEcho
from sandbox_server.cdp.redaction import SecretRedaction
from sandbox_server.cdp.secret_fields import SecretFields
from sandbox_server.cdp.tabs import RestorableTabs
from sandbox_server.core.control import ON_SCREEN, Holding
from sandbox_server.core.errors import Failure, PermissionDenied, Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.core.tasks import Tasks, in_thread
from sandbox_server.core.tool_allow_list import names_one
from sandbox_server.drivers.browser.browser_client import SecretSource
from sandbox_server.drivers.browser.chromium import LOCKED, RunningChromium
from sandbox_server.drivers.spawn.process import LOST, Exit, Process
from sandbox_server.timeouts import scaled

START_TIMEOUT = scaled(20.0)
QUIT_TIMEOUT = 3.0
HALT_TIMEOUT = scaled(20.0)
"""Seconds that the browser may take to write its profile before that is copied or left."""
EARLY = 10.0
"""A browser that lives for fewer seconds than this counts as an early end."""
EARLY_ENDS = 3
"""After this many early ends in a row, the next start gets a fresh profile."""
PAUSES = (0.0, 0.2, 1.0, 5.0)
"""Seconds before a start, by the number of failures just before it. The last value holds for all further ones."""
SAVE_DELAY = 0.2
BLANK = "about:blank"
KILLED = Exit(None, signal.SIGKILL)
IN_USE = Exit(LOCKED, None)

type Prepare = Callable[[BrowserLink], Awaitable[None]]

log = logging.getLogger(__name__)


class Launcher(Protocol):
    """Starts browsers: `drivers.browser.chromium`, or a test's own."""

    @property
    def profile(self) -> str: ...
    async def start(self) -> RunningChromium: ...
    async def set_profile_aside(self) -> None: ...


class BrowserSupervisor:
    """Keeps one browser running: from entering the context if `eager`, else from the first call of `link`.

    `prepare` is called with each new browser before its tabs are opened. `thaw` resumes a suspended box. With `hides`,
    private mode begins when a person who drives focuses a field for a secret.
    """

    def __init__(
        self,
        launcher: Launcher,
        tabs: RestorableTabs,
        prepare: Prepare,
        thaw: Thaw,
        *,
        eager: bool,
        homepage: str,
        rules: ClientRules | None = None,
        hides: bool = True,
    ) -> None:
        self._rules = rules or ClientRules()
        self._hides = hides
        self.secrets = SecretRedaction()
        """What people typed into secret fields. It is masked in all that clients receive."""
        self.fields = SecretFields(self._on_focus, self._on_typed, self._is_person)
        """The secret fields of pages."""
        self.acts = DevtoolsInputEcho(lambda: self._link)
        """The mouse and keyboard input of clients."""
        self._launcher = launcher
        self.tabs = tabs
        self._prepare = prepare
        self._thaw = thaw
        self._eager = eager
        self._homepage = homepage
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self._link: BrowserLink | None = None
        self.pid: int | None = None
        """Chromium's process id while it runs."""
        self._failure: Failure | None = None
        self._failures = 0
        self._early_ends = 0
        self._dismissed = False
        self._restore = tabs.saved()
        self._saving: asyncio.Task[None] | None = None
        self._unsaved = False
        self._tasks = Tasks()
        self._halting = asyncio.Lock()
        self._free = asyncio.Event()
        self._free.set()
        self._stopped = True

    async def __aenter__(self) -> Self:
        if self._eager:
            self._wanted.set()
        self._tasks.start(self._keep(), name="browser")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.fields.close()
        await self._tasks.close()

    async def link(self, within: float | None = None) -> BrowserLink:
        """Return the connection to the running browser, and start the browser if needed.

        Raises Unavailable with the reason if it does not start.
        """
        self._wanted.set()
        within = within or START_TIMEOUT
        try:
            async with asyncio.timeout(within):
                while self._link is None:
                    if self._failure:
                        raise self._failure
                    await self._changed.wait()
                return self._link
        except TimeoutError:
            raise Unavailable(f"the browser did not start within {within:g} s", retry_after=1.0) from None

    @property
    def running(self) -> BrowserLink | None:
        """The connection to the browser if one runs."""
        return self._link

    def hold(self, holding: Holding) -> None:
        """Apply a new state of the lease to all clients."""
        shown = self._rules.holding.private and not holding.private
        self._rules.holding = holding
        if self._link:
            if shown:
                self.fields.discard_messages()
            self._link.see()
            self._link.let_go()
        if self._is_person():
            self.fields.hurry()

    @property
    def holding(self) -> Holding:
        """The current state of the lease."""
        return self._rules.holding

    @property
    def profile(self) -> str:
        """The name of the profile that the browser runs on."""
        return self._launcher.profile

    def check_profile(self, caller: Caller) -> None:
        """Raise PermissionDenied if a client's token does not name the profile."""
        if not names_one(caller.profiles, (self.profile,)):
            raise PermissionDenied("your token does not name the browser's profile")

    def check_seen(self, caller: Caller) -> None:
        """Raise Private if a client may not see pages now, and as `check_profile` does."""
        self.check_profile(caller)
        if not self._rules.sees(caller):
            raise self.holding.hidden()

    def _on_focus(self) -> None:
        """Start private mode here at once. The API gets the same event and announces it to everyone else."""
        holding = self.holding
        if self._hides and self.fields.secret and holding.state == "human" and holding.reach & ON_SCREEN and not holding.private:
            self.hold(replace(holding, private=holding.holder))

    def _is_person(self) -> bool:
        """Whether a person may type."""
        return self.holding.state in ("human", "shared")

    def _on_typed(self, value: str, was: str, origin: str) -> None:
        if self._is_person():
            source: SecretSource = "person" if self.holding.state == "human" else "shared"  # then a program may have typed it
            if value.startswith(was):
                self.secrets.discard(was, source, origin)
            self.secrets.add(value, source, origin)

    def admits(self, caller: Caller) -> bool:
        """Whether a client may act on pages now."""
        return self._rules.admits(caller)

    async def restart(self) -> BrowserLink:
        """Quit the browser, and return when the next one serves with the same tabs."""
        if self._link:
            self._dismissed = True
            self._stop_serving("the browser is restarting")
        return await self.link()

    @asynccontextmanager
    async def halted(self) -> AsyncIterator[None]:
        """Stop the browser for the time of the block, so that nobody writes its profile. Its tabs are restored after it.

        Raises Unavailable if it does not stop.
        """
        async with self._halting:
            self._free.clear()
            try:
                await self._stop()
                yield
            finally:
                self._free.set()

    async def _stop(self) -> None:
        try:
            async with asyncio.timeout(STARTING):
                while not self._stopped:
                    if self._link:
                        self._dismissed = True
                        self._stop_serving("the browser's profile is copied or changed")
                    await self._changed.wait()
        except TimeoutError:
            raise Unavailable("the browser does not stop", retry_after=1.0) from None

    async def change_profile(self, change: Callable[[], None]) -> BrowserLink:
        """Stop the browser, call `change`, and return when the next one serves, on its home page.

        Raises Unavailable and as `Launcher.start` does.
        """
        async with self.halted():
            change()
            self._restore, self._failure, self._failures, self._early_ends = [], None, 0, 0
        return await self.link(STARTING)

    async def _keep(self) -> None:
        await self._wanted.wait()
        while True:
            await asyncio.sleep(0 if self._early_ends == EARLY_ENDS else PAUSES[min(self._failures, len(PAUSES) - 1)])
            await self._free.wait()
            self._stopped = False
            try:
                await self._run_once()
            except Failure as failure:
                self._fail(failure)
            except Exception as error:
                log.exception("keeping the browser failed")
                self._fail(Unavailable(f"the browser cannot be started: {error}", retry_after=1.0))
            finally:
                self._stopped = True
                self._notify()

    def _fail(self, failure: Failure) -> None:
        if str(failure) != str(self._failure):  # log each new reason once: starts are retried for ever
            log.warning("the browser does not start: %s", failure)
        self._failures += 1
        self._failure = failure
        self._notify()

    async def _run_once(self) -> None:
        if self._early_ends == EARLY_ENDS:
            self._early_ends = self._failures = 0
            await self._launcher.set_profile_aside()
        running = await self._launcher.start()
        self.pid = running.process.pid
        began = time.monotonic()
        link = BrowserLink(self._on_notice, self._rules, self.secrets, self.acts.note)
        try:
            await link.open(running.reads, running.writes)
            await first_word(link, running.process)
            await self._serve(link, running.process)
        finally:
            self._stop_serving("the browser ended")
            link.close("the browser ended")
            await bury(running.process, QUIT_TIMEOUT if self._free.is_set() else HALT_TIMEOUT)
            self.pid = None
            self._judge(running.process.exit, time.monotonic() - began)
        log.info("the browser ended: %s", running.process.exit)

    async def _serve(self, link: BrowserLink, process: Process) -> None:
        link.patience = STARTING
        await self.fields.follow(link)
        await self._prepare(link)
        await self._open_tabs(link)
        link.patience = COMMAND_TIMEOUT
        self._link, self._failure, self._failures = link, None, 0
        self._notify()
        self._save_soon()
        async with Tasks() as tasks:
            tasks.start(feel_pulse(link, process), name="pulse")
            tasks.start(stay_awake(link, self._thaw), name="stay awake")
            await link.ended()  # not the process's end: that is lost when the spawner dies, and the browser lives on

    async def _open_tabs(self, link: BrowserLink) -> None:
        """Restore the tabs that were open before. A browser that keeps crashing starts with the home page only."""
        self.tabs.forget()
        await link.command("Target.setDiscoverTargets", discover=True)
        found = await link.command("Target.getBrowserContexts")
        self.tabs.context = found.get("defaultBrowserContextId")
        urls = self._restore if self._early_ends < EARLY_ENDS - 1 else []
        for url in urls or [self._homepage]:
            try:
                await link.command("Target.createTarget", url=url)
            except CommandRefused as error:
                log.warning("a tab was not opened again: %s", error)

    def _stop_serving(self, reason: str) -> None:
        link, self._link = self._link, None
        if link:
            self._restore = self.tabs.urls
            link.close(reason)

    def _judge(self, end: Exit | None, lived: float) -> None:
        """Count an early end, unless the browser was killed or told to quit."""
        early = lived < EARLY and not self._dismissed and end not in (KILLED, LOST, IN_USE)
        self._early_ends = self._early_ends + 1 if early else 0
        self._failures += early
        self._dismissed = False

    def _notify(self) -> None:
        self._changed.set()
        self._changed.clear()

    def _on_notice(self, notice: BrowserEvent) -> None:
        if not self.tabs.take(notice.method, notice.params) or self._link is None:
            return
        if self.tabs.empty:
            self._tasks.start(self._leave_a_tab(self._link), name="last tab")
        self._save_soon()

    def _save_soon(self) -> None:
        self._unsaved = True
        if self._saving is None or self._saving.done():
            self._saving = self._tasks.start(self._save(), name="save tabs")

    async def _leave_a_tab(self, link: BrowserLink) -> None:
        with suppress(Failure):  # the browser is already closing
            await link.command("Target.createTarget", url=BLANK)

    async def _save(self) -> None:
        """Save the tabs, and again where they change while they are written."""
        while self._unsaved:
            await asyncio.sleep(SAVE_DELAY)
            self._unsaved = False
            try:
                await in_thread(self.tabs.save, self.tabs.urls)
            except OSError as error:
                log.warning("the tabs are not saved: %s", error)
