"""The connection to one browser process: the multiplexer, its pipe, its clients and the server's own commands."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from sandbox_server.cdp.command_rules import OWNER, ClientRules, sealed
from sandbox_server.cdp.devtools_clients import (
    BrowserEvent,
    ClientEnded,
    ClientMessage,
    ClientMessages,
    DevtoolsClient,
    OwnReply,
    ToBrowser,
)
from sandbox_server.cdp.devtools_pipe import Pipe, open_pipe
from sandbox_server.cdp.hidden_targets import HiddenTargets
from sandbox_server.cdp.messages import DevtoolsCommand, Object
from sandbox_server.cdp.multiplexer import Multiplexer
from sandbox_server.cdp.outbox import Outbox, SharedBacklog
from sandbox_server.cdp.redaction import SecretRedaction
from sandbox_server.core.errors import InvalidArgument, NotFound, Unavailable
from sandbox_server.core.identity import Caller
from sandbox_server.timeouts import scaled

COMMAND_TIMEOUT = scaled(10.0)
"""Seconds that a command of the server's own may take."""
RETRY_AFTER = 1.0

type Noted = Callable[[str, DevtoolsCommand], None]
"""Called with each command of a client and the id of its session."""


class CommandRefused(InvalidArgument):
    """Chromium answered a command of the server's own with an error."""


class BrowserLink:
    """The connection to one browser process, from its start to its end.

    `take` gets the events that are for the server itself. `rules` decide what clients may send.
    `secrets` are masked in all that clients receive.
    """

    def __init__(
        self,
        take: Callable[[BrowserEvent], None],
        rules: ClientRules | None = None,
        secrets: SecretRedaction | None = None,
        noted: Noted = lambda session, command: None,
    ) -> None:
        self._secrets = secrets or SecretRedaction()
        self._take = take
        self._rules = rules or ClientRules()
        self._multiplexer = Multiplexer(self._rules, noted)
        self._answers: dict[int, Callable[[Object], None]] = {}
        self._outboxes: dict[DevtoolsClient, Outbox] = {}
        self._programs = SharedBacklog()
        self._pipe: Pipe | None = None
        self._end: str | None = None
        self._ended = asyncio.Event()
        self.asked = asyncio.Event()
        """Set whenever something is sent to the browser."""
        self.patience = COMMAND_TIMEOUT
        """Seconds that a command of the server's own may take if it names no timeout."""
        self.sent = 0
        """Messages sent to the browser."""
        self.heard = 0
        """Messages received from the browser."""

    @property
    def hidden_targets(self) -> HiddenTargets:
        """The targets that not every client may see."""
        return self._multiplexer.hidden_targets

    async def open(self, readable: int, writable: int) -> None:
        """Open the pipe from its two file descriptors."""
        self._pipe = await open_pipe(readable, writable, self._on_message, lambda: self.close("the browser ended"))

    @property
    def unanswered(self) -> bool:
        """Whether any command waits for the browser's answer."""
        return bool(self._answers) or self._multiplexer.waiting

    def overridden(self, session: str) -> bool:
        """Whether a client overrides the viewport of this session's page, so that its position on the screen is unknown."""
        return self._multiplexer.overrides.hold(session)

    @property
    def over(self) -> bool:
        """Whether the pipe is closed."""
        return self._end is not None

    async def ended(self) -> None:
        """Wait until the pipe is closed by either side."""
        await self._ended.wait()

    def close(self, reason: str) -> None:
        """Close the pipe, upon which Chromium quits. Every client gets errors for its open commands, and the reason."""
        if self._end is not None:
            return
        self._end = reason
        self._ended.set()
        for peer in self._outboxes:
            self._close_outbox(peer, reason)
        if self._pipe:
            self._pipe.close()
        for answered in list(self._answers.values()):
            answered({"error": {"message": reason}})

    async def command(self, method: str, timeout: float | None = None, session: str | None = None, **params: object) -> Object:
        """Send a command of the server's own to the browser or to a session, and return its result.

        Raises CommandRefused if Chromium answers with an error, Unavailable if it does not answer in time.
        """
        answer: asyncio.Future[Object] = asyncio.get_running_loop().create_future()
        return await self._answer(method, params, answer, answer.set_result, self.patience if timeout is None else timeout, session)

    async def reset_downloads(self) -> None:
        """Have downloads saved where they are handed over from, whatever clients have set, but in hidden contexts; raises Unavailable."""
        self._multiplexer.forget_downloads()
        contexts = self.hidden_targets.of_clients((await self.command("Target.getBrowserContexts"))["browserContextIds"])
        await self.command("Browser.setDownloadBehavior", behavior="default")
        for context in contexts:
            with suppress(CommandRefused):  # it has gone
                await self.command("Browser.setDownloadBehavior", behavior="default", browserContextId=context)

    async def attach(self, caller: Caller, page: str | None, lane: str | None = None) -> tuple[DevtoolsClient, Outbox]:
        """Connect a client, in the lane of a context or in none: open a session for it on the browser, or on one page.

        Raises NotFound if the page does not exist, Unavailable if Chromium does not answer.
        """
        if page and caller is not OWNER and self.hidden_targets.knows(page, lane):
            raise NotFound(f"No such target id: {page}")
        admitted: asyncio.Future[Object] = asyncio.get_running_loop().create_future()
        taken: list[tuple[DevtoolsClient, Outbox]] = []

        def admit(reply: Object) -> None:  # at once: an event that ends the session may follow
            if session := reply.get("result", {}).get("sessionId"):
                taken.append(self._admit(caller, session, page, lane))
            admitted.set_result(reply)

        method, params = ("Target.attachToTarget", {"targetId": page, "flatten": True}) if page else ("Target.attachToBrowserTarget", {})
        try:
            await self._answer(method, params, admitted, admit, self.patience)
        except CommandRefused:
            raise NotFound(f"No such target id: {page}") from None
        except BaseException:
            for peer, _ in taken:
                self.detach(peer)
            raise
        return taken[0]

    def clients_in(self, lane: str) -> int:
        """Count the clients in the lane of a context."""
        return sum(peer.lane == lane for peer in self._outboxes)

    def end_lane(self, lane: str) -> None:
        """Disconnect the clients in the lane of a context."""
        for peer in self._outboxes:
            if peer.lane == lane:
                self._close_outbox(peer, "the lane was deleted")

    def send(self, peer: DevtoolsClient, text: str | bytes) -> None:
        """Forward a message of a client to the browser, or answer it."""
        match self._multiplexer.from_peer(peer, text):
            case ToBrowser(message):
                self._write(message)
            case ClientMessage(_, message):
                self._outboxes[peer].put(message)

    def let_go(self) -> None:
        """Release the keys and buttons that clients hold down and that may no longer act."""
        for peer in self._outboxes:
            if not self._rules.admits(peer.caller):
                for message in self._multiplexer.releases(peer):
                    self._write(message)

    def see(self) -> None:
        """Apply the current lease to every client: whether it may see pages, and whether its overrides are in force."""
        for peer in list(self._outboxes):
            for told in (*self._multiplexer.see(peer), *self._multiplexer.suspension.rest(peer)):
                self._say(told)

    def _say(self, told: ToBrowser | ClientMessage | ClientEnded) -> None:
        match told:
            case ToBrowser(message):
                self._write(message)
            case ClientMessage(peer, message):
                self._outboxes[peer].put(message)
            case ClientEnded(peer, reason):
                self._close_outbox(peer, reason)

    async def writable(self) -> None:
        """Wait until the pipe to Chromium has room."""
        if self._pipe:
            await self._pipe.writable()

    def detach(self, peer: DevtoolsClient) -> None:
        """Disconnect a client and end its session, with everything that was set up in it."""
        outbox = self._outboxes.pop(peer, None)
        if outbox is None:
            return
        outbox.drop()
        self._multiplexer.remove(peer)
        self._end_session(peer.base)

    async def _answer(
        self,
        method: str,
        params: Object,
        answer: asyncio.Future[Object],
        answered: Callable[[Object], None],
        timeout: float,
        session: str | None = None,
    ) -> Object:
        if self._end is not None:
            raise Unavailable(self._end, retry_after=RETRY_AFTER)
        number, message = self._multiplexer.command(method, params, session)
        self._answers[number] = answered
        self._write(message)
        try:
            async with asyncio.timeout(timeout):
                reply = await asyncio.shield(answer)
        except TimeoutError:
            raise Unavailable(f"the browser did not answer {method} within {timeout:g} s", retry_after=RETRY_AFTER) from None
        finally:
            self._multiplexer.unask(number)
            self._answers.pop(number, None)
        return self._result(reply)

    def _result(self, reply: Object) -> Object:
        if self._end is not None:
            raise Unavailable(self._end, retry_after=RETRY_AFTER)
        if "error" in reply:
            raise CommandRefused(str(reply["error"].get("message")))
        result: Object = reply["result"]
        return result

    def _admit(self, caller: Caller, session: str, page: str | None, lane: str | None) -> tuple[DevtoolsClient, Outbox]:
        apart = caller.person or self._rules.trusts(caller)
        peer, outbox = self._multiplexer.add(caller, session, page, lane), Outbox(share=None if apart else self._programs)
        self._outboxes[peer] = outbox
        return peer, outbox

    def _write(self, message: bytes) -> None:
        self.sent += 1
        self.asked.set()
        if self._pipe:
            self._pipe.send(message)

    def _on_message(self, message: bytes) -> None:
        if self._end is not None:
            return
        self.heard += 1
        match self._multiplexer.from_browser(message):
            case ClientMessage(peer, addressed):
                self._tell(peer, addressed)
            case ClientMessages(peer, messages):
                for told in messages:
                    self._tell(peer, told)
            case OwnReply(number, body):
                self._on_answer(number, body)
            case ClientEnded(peer, reason):
                self._close_outbox(peer, reason)
            case BrowserEvent() as notice:
                self._shun(notice)
                self._take(notice)
        self._send_due()

    def _shun(self, notice: BrowserEvent) -> None:
        """Detach clients from a page that has become one of the browser's own tools."""
        info = notice.params.get("targetInfo") or {}
        self.hidden_targets.has(info)
        if notice.method == "Target.targetInfoChanged" and sealed(info):
            for ended in self._multiplexer.shun(str(info.get("targetId"))):
                self._say(ended)

    def _send_due(self) -> None:
        for message in self._multiplexer.suspension.due():
            self._write(message)

    def _tell(self, peer: DevtoolsClient, message: bytes) -> None:
        """Queue a message of the browser for a client. Secrets are masked, except for this process's own clients."""
        if told := message if peer.caller is OWNER else self._secrets.redacted(message):
            self._outboxes[peer].put(told)

    def _on_answer(self, number: int, body: Object) -> None:
        if answered := self._answers.pop(number, None):
            answered(body)
        elif session := body.get("result", {}).get("sessionId"):  # attached for a client that has given up waiting
            self._end_session(session)

    def _close_outbox(self, peer: DevtoolsClient, reason: str) -> None:
        for message in self._multiplexer.lost(peer):
            self._outboxes[peer].put(message)
        self._outboxes[peer].close(reason)

    def _end_session(self, session: str) -> None:
        _, message = self._multiplexer.command("Target.detachFromTarget", {"sessionId": session})
        self._write(message)
