"""Supervision of Chromium: start on demand, restart with its tabs after it died."""

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from sandbox_server.cdp.browser_connection import COMMAND_TIMEOUT, BrowserLink, CommandRefused
from sandbox_server.cdp.command_rules import ClientRules
from sandbox_server.cdp.cpu_time import work_of
from sandbox_server.cdp.devtools_clients import BrowserEvent
from sandbox_server.cdp.input_echo import DevtoolsInputEcho
from sandbox_server.cdp.redaction import SecretRedaction
from sandbox_server.cdp.secret_fields import SecretFields
from sandbox_server.cdp.tabs import RestorableTabs
from sandbox_server.core.control import ON_SCREEN, Holding
from sandbox_server.core.errors import Failure, Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.browser.chromium import RunningChromium
from sandbox_server.drivers.spawn.process import LOST, Exit, Process

START_TIMEOUT = 20.0
STARTING = 150.0
"""Seconds that a new browser may take to answer, as long as it gets on: a busy machine takes minutes, and another start more."""
STANDING = 10.0
"""Seconds without an answer in which it has to get on."""
QUIT_TIMEOUT = 3.0
PULSE = 10.0
"""Seconds between two questions whether the browser still answers."""
HUNG = 30.0
"""Seconds without an answer after which it is killed."""
EARLY = 10.0
"""A browser that lives shorter than this died of how it was started."""
EARLY_ENDS = 3
"""So many in a row, and the next start gets a fresh profile."""
PAUSES = (0.0, 0.2, 1.0, 5.0)
"""Seconds before a start, by how many failures came right before it; the last holds for all that follow."""
SAVE_DELAY = 0.2
SILENCE = 0.5
"""Seconds without a word from a browser that is asked something, after which its box may be suspended."""
BLANK = "about:blank"
KILLED = Exit(None, signal.SIGKILL)

type Prepare = Callable[[BrowserLink], Awaitable[None]]
type Thaw = Callable[[], Awaitable[None]]

log = logging.getLogger(__name__)


class Launcher(Protocol):
    """What starts browsers: `drivers.chromium`, or a test's own."""

    async def start(self) -> RunningChromium: ...
    async def set_profile_aside(self) -> None: ...


class BrowserSupervisor:
    """The one browser. The context keeps it running from its entry on, or from the first `link` unless `eager`.

    `prepare` is given each new browser before its tabs are opened. `thaw` lets a box go on that may be suspended.
    With `hides` a person who drives is private as soon as a field for a secret has the focus.
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
        """What a person typed into fields for secrets: no client is told it, ever."""
        self.fields = SecretFields(self._on_focus, self._on_typed, self._is_person)
        """The fields of pages that take secrets."""
        self.acts = DevtoolsInputEcho(lambda: self._link)
        """What clients do on pages."""
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
        """Chromium's pid while it runs."""
        self._failure: Failure | None = None
        self._failures = 0
        self._early_ends = 0
        self._dismissed = False
        self._restore = tabs.saved()
        self._saving: asyncio.Task[None] | None = None
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        if self._eager:
            self._wanted.set()
        self._tasks.start(self._keep(), name="browser")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.fields.close()
        await self._tasks.close()

    async def link(self) -> BrowserLink:
        """The connection to the running browser, which is started first where it has to be.

        Raises Unavailable with the reason when it does not come up.
        """
        self._wanted.set()
        try:
            async with asyncio.timeout(START_TIMEOUT):
                while self._link is None:
                    if self._failure:
                        raise self._failure
                    await self._changed.wait()
                return self._link
        except TimeoutError:
            raise Unavailable(f"the browser did not start within {START_TIMEOUT:g} s", retry_after=1.0) from None

    @property
    def running(self) -> BrowserLink | None:
        """The connection to the browser, where one runs."""
        return self._link

    def hold(self, holding: Holding) -> None:
        """Have clients keep to who may act from now on."""
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
        """Who may act."""
        return self._rules.holding

    def check_seen(self, caller: Caller) -> None:
        """Raise Private for a client that may not see pages now."""
        if not self._rules.sees(caller):
            raise self.holding.hidden()

    def _on_focus(self) -> None:
        """Hide at once what a person does who drives; the API, which is told too, makes that known to everybody else."""
        holding = self.holding
        if self._hides and self.fields.secret and holding.state == "human" and holding.reach & ON_SCREEN and not holding.private:
            self.hold(replace(holding, private=holding.holder))

    def _is_person(self) -> bool:
        """Whether a person may type."""
        return self.holding.state in ("human", "shared")

    def _on_typed(self, value: str, was: str) -> None:
        if self._is_person():
            if value.startswith(was):
                self.secrets.discard(was)
            self.secrets.add(value)

    def admits(self, caller: Caller) -> bool:
        """Whether a client may act on pages now."""
        return self._rules.admits(caller)

    async def restart(self) -> BrowserLink:
        """Quit the browser, and return once the next one serves with the same tabs."""
        if self._link:
            self._dismissed = True
            self._stop_serving("the browser is restarting")
        return await self.link()

    async def _keep(self) -> None:
        await self._wanted.wait()
        while True:
            await asyncio.sleep(0 if self._early_ends == EARLY_ENDS else PAUSES[min(self._failures, len(PAUSES) - 1)])
            try:
                await self._run_once()
            except Failure as failure:
                self._fail(failure)
            except Exception as error:
                log.exception("keeping the browser failed")
                self._fail(Unavailable(f"the browser cannot be started: {error}", retry_after=1.0))

    def _fail(self, failure: Failure) -> None:
        if str(failure) != str(self._failure):  # it is tried again and again
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
            await _first_word(link, running.process)
            await self._serve(link, running.process)
        finally:
            self._stop_serving("the browser ended")
            link.close("the browser ended")
            await _bury(running.process)
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
            tasks.start(_feel_pulse(link, process), name="pulse")
            tasks.start(_stay_awake(link, self._thaw), name="stay awake")
            await link.ended()  # not the process's end: that is lost when the spawner dies, and the browser lives on

    async def _open_tabs(self, link: BrowserLink) -> None:
        """Open what was open before; a browser that keeps dying of it starts with the first page alone."""
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
        """Tell a browser that died of its profile or its tabs from one that was killed or told to quit."""
        early = lived < EARLY and not self._dismissed and end not in (KILLED, LOST)
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
        if self._saving is None or self._saving.done():
            self._saving = self._tasks.start(self._save(), name="save tabs")

    async def _leave_a_tab(self, link: BrowserLink) -> None:
        with suppress(Failure):  # the browser is on its way out
            await link.command("Target.createTarget", url=BLANK)

    async def _save(self) -> None:
        await asyncio.sleep(SAVE_DELAY)
        await asyncio.to_thread(self.tabs.save, self.tabs.urls)


async def _first_word(link: BrowserLink, process: Process) -> None:
    """Wait until a new browser answers, for as long as it gets on; raises Unavailable."""
    until, used = time.monotonic() + STARTING, None
    while True:
        try:
            await link.command("Browser.getVersion", timeout=STANDING)
            return
        except Unavailable:
            before, used = used, await asyncio.to_thread(work_of, process.pid)
            if link.over or process.exit is not None or used == before or time.monotonic() > until:
                raise


async def _feel_pulse(link: BrowserLink, process: Process) -> None:
    """Kill a browser that does not answer any more; one that nobody asks anything may stand still."""
    felt = link.sent
    try:
        while True:
            await asyncio.sleep(PULSE)
            if link.sent != felt:
                await link.command("Browser.getVersion", timeout=HUNG)
                felt = link.sent
    except Failure as failure:
        log.warning("the browser hangs: %s", failure)
        await process.kill(signal.SIGKILL)


async def _stay_awake(link: BrowserLink, thaw: Thaw) -> None:
    """Let the box go on for whoever waits for a browser that says nothing."""
    while True:
        await link.asked.wait()
        link.asked.clear()
        while link.unanswered:
            heard = link.heard
            await asyncio.sleep(SILENCE)
            if link.unanswered and link.heard == heard:
                await thaw()


async def _bury(process: Process) -> None:
    """Wait for a browser that lost its pipe to quit, and kill it when it does not; its helpers too."""
    try:
        async with asyncio.timeout(QUIT_TIMEOUT):
            await process.wait()
    except TimeoutError:
        await process.kill(signal.SIGKILL)
        await process.wait()
