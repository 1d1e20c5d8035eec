"""A sandbox, from outside."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from tandem import engine, wire
from tandem._async.checkpoint import AsyncCheckpoint
from tandem._async.connection import AsyncConnection
from tandem._async.control import AsyncControl
from tandem._async.files import AsyncFiles
from tandem._async.page import AsyncPage
from tandem._async.shell import AsyncShell
from tandem.api import AsyncApi
from tandem.errors import ApiError, TandemError, Unavailable, Unreachable
from tandem.notebook import screen_html

if TYPE_CHECKING:
    from tandem.api.shared import FormField, Handoff

START_SECONDS = 120.0
LOOK_SECONDS = 0.1


class AsyncSandbox:
    """A computer that an agent and a person share.

    `url` and `key` are those of `SANDBOX_URL` and `SANDBOX_API_KEY` unless given. `patience` is in seconds: for so long a call waits
    where a person has control, a limit is reached or a component starts, in place of raising HeldByPerson, LimitReached or Unavailable.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, patience: float = 0.0) -> None:
        self._connection = AsyncConnection(wire.Place.of(url, key), patience)
        self._started: engine.Started | None = None
        self.api = AsyncApi(self._connection)
        """All operations of the API, by tag: `api.handoffs.list_handoffs()`."""
        self.shell = AsyncShell(self._connection)

    @classmethod
    async def start(
        cls,
        image: str = "tandem",
        *,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        patience: float = 0.0,
        timeout: float = START_SECONDS,
    ) -> "AsyncSandbox":
        """Start one: a container of `image` on this machine. It is removed when it is closed.

        `env` are the image's settings. `timeout` is in seconds; raises TimeoutError.
        """
        deadline = time.monotonic() + timeout
        started = await asyncio.to_thread(engine.start_container, image, name, env or {})
        sandbox = cls(started.url, started.key, patience=patience)
        sandbox._started = started
        try:
            await sandbox.wait_ready(deadline - time.monotonic())
        except BaseException:
            await sandbox.aclose()
            raise
        return sandbox

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection, and remove the sandbox if `start` made it."""
        await self._connection.aclose()
        if self._started is not None:
            started, self._started = self._started, None
            await asyncio.to_thread(engine.remove, started)

    @property
    def page(self) -> AsyncPage:
        """The page of the browser in front."""
        return AsyncPage(self.api)

    @property
    def files(self) -> AsyncFiles:
        """Files of the sandbox."""
        return AsyncFiles(self.api)

    @property
    def control(self) -> AsyncControl:
        """Who drives."""
        return AsyncControl(self.api)

    @property
    def url(self) -> str:
        """Where it is."""
        return self._connection.place.url

    @property
    def key(self) -> str:
        """What opens it: the owner's key if it was started here."""
        return self._connection.place.key

    async def wait_ready(self, timeout: float = START_SECONDS) -> None:
        """Wait until it answers. Raises TimeoutError after `timeout` seconds, and PermissionDenied."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                await self._connection.request("GET", "/v1/sandbox")
                return
            except (Unreachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500:
                    raise
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.url} was not ready within {timeout:g} s: {error}") from error
            await asyncio.sleep(LOOK_SECONDS)

    async def ask(
        self,
        reason: str,
        *,
        kind: str = "confirm",
        choices: Sequence[str] = (),
        fields: "Sequence[FormField]" = (),
        instructions: str = "",
        url: str | None = None,
        timeout: float = 3600.0,
    ) -> "Handoff":
        """Ask a person, and wait for the answer: `outcome`, `confirmed`, `choice`, `values`, `note`.

        `kind` is `login`, `captcha`, `otp`, `payment`, `choice`, `confirm` or `free`. After `timeout` seconds the outcome is `timeout`.
        The question is withdrawn if nobody waits any more.
        """
        asked = await self.api.handoffs.request_human(
            kind=kind, reason=reason, choices=list(choices), fields=list(fields), instructions=instructions, url=url, deadline=timeout
        )
        seen = time.monotonic()
        try:
            while asked.status != "closed":
                found = await self._looked(asked.id)
                if found is not None:
                    asked, seen = found, time.monotonic()
                else:
                    await self._rest(seen)
        except BaseException:
            await self._withdraw(asked.id)
            raise
        return asked

    async def _looked(self, handoff: str) -> "Handoff | None":
        try:
            return await self.api.handoffs.get_handoff(handoff, wait=wire.LONGEST_WAIT)
        except (Unreachable, Unavailable):
            return None

    async def _rest(self, seen: float) -> None:
        """Pause before the next look: a restart keeps the question."""
        if time.monotonic() - seen > wire.AWAY_SECONDS:
            raise Unreachable(f"{self.url} does not answer")
        await asyncio.sleep(LOOK_SECONDS)

    async def _withdraw(self, handoff: str) -> None:
        try:
            await self.api.handoffs.cancel_handoff(handoff)
        except TandemError:
            return  # it is answered, or nobody is there

    def checkpoint(self, label: str = "", *, restore_on_error: bool = False) -> AsyncCheckpoint:
        """Keep the state of the files while a block runs: `with sandbox.checkpoint("before") as before: ...`."""
        return AsyncCheckpoint(self.api, label, restore_on_error=restore_on_error)

    def events(self) -> AsyncIterator[wire.Event]:
        """What happens now, without end: `control`, `handoffs`, `ports` and more. It goes on by itself where the connection breaks."""
        return self.api.control.live_events()

    async def screenshot(self) -> bytes:
        """A picture of the whole screen in PNG."""
        return await self.api.browser.screenshot(format="png")

    async def view_url(self) -> str:
        """A link to the live page for one browser, once and within a minute. It signs a person in if the key is the owner's."""
        ticket = await self.api.auth.create_ticket(path_prefix="/")
        return f"{self.url}/view?ticket={ticket.ticket}"

    def _repr_html_(self) -> str:
        return screen_html(self._connection.place)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"
