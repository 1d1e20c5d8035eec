"""Control: who drives the computer that an agent and a person share."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Annotated, Literal, Protocol, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sandbox_server.core import Call, Event, EventTypes, Failure, Model, PermissionDenied, Unavailable, operation
from sandbox_server.core.control import ALL_REACHES, Reach
from sandbox_server.core.errors import left_to_people
from sandbox_server.features.control import lease_state_machine as machine
from sandbox_server.features.control.control_state import ControlChange, ControlState, HiddenState, state_of
from sandbox_server.features.control.lease_keeper import LeaseKeeper, Step, actor_of
from sandbox_server.features.control.paused_agent import AgentPause, told_of

type Name = Annotated[str, Field(min_length=1, max_length=200)]


def _listed(value: object) -> object:
    """`all`, one word or a list of words, as a list."""
    words = [value] if isinstance(value, str) else value
    return sorted(ALL_REACHES) if isinstance(words, list) and "all" in words else words


def _of_the_web(value: str) -> str:
    """An address that is http or https, and has a host."""
    found = urlsplit(value)
    if found.scheme not in ("http", "https") or not found.hostname or not value.isprintable() or " " in value:
        raise ValueError("this is no address of the web: it begins with http:// or https://")
    return value


type WebAddress = Annotated[str, Field(min_length=1, max_length=8192), AfterValidator(_of_the_web)]
type Scopes = Annotated[list[Reach], BeforeValidator(_listed, json_schema_input_type=list[Reach | Literal["all"]] | Reach | Literal["all"])]


class WantControl(Model):
    scope: Scopes = Field(default_factory=lambda: sorted(ALL_REACHES), min_length=1)
    """What it is for: `gui` mouse and keyboard, `cdp` the browser's pages, `shell` whatever runs programs, or `all`."""


class GiveControl(WantControl):
    to: Name
    """`agent`, `shared` for everybody at once, or the name of a person."""


class ReleaseControl(Model):
    note: Annotated[str, Field(max_length=1000)] = ""
    """What you want to tell the agent."""


class HideScreen(Model):
    fresh: bool = False
    """Open a window of the browser with nothing of the agent's in it: no cookies, storage, workers and scripts. It is there as long as
    you are private, nobody else sees it, and nothing is downloaded in it."""
    url: WebAddress | None = None
    """What that window shows; nothing by default."""

    @model_validator(mode="after")
    def _has_a_window(self) -> Self:
        if self.url is not None and not self.fresh:
            raise ValueError("url is for a fresh window: set fresh, too")
        return self


class FreezeControl(Model):
    programs: Literal["stop", "leave"] = "stop"
    """`stop`: the agent's programs stand still, too. `leave`: they go on, and only nothing new begins."""


class Subject(Model):
    subject: Name
    """Who asked."""


class FollowControl(Model):
    viewing: bool = True
    """Whether a person who follows counts as a viewer. `false` is for programs that watch many sandboxes on behalf of people."""


EVENTS = EventTypes("ControlEvent", {"control": ControlChange})


class FreshWindows(Protocol):
    """What opens windows for who is private."""

    async def open_fresh(self, person: str, url: str) -> None: ...


class ControlLease:
    """Reads and moves the lease; `windows` is None where there is no browser, `pause` where nothing stops programs."""

    tag = "control"

    def __init__(self, keeper: LeaseKeeper, windows: FreshWindows | None = None, pause: AgentPause | None = None) -> None:
        self._keeper = keeper
        self._pause = pause
        self._windows = windows

    @operation("GET /v1/control", scope="view", tool="control_status")
    async def control_state(self, call: Call) -> ControlState:
        """Tell who drives: the agent, a person, both or nobody."""
        return state_of(self._keeper, call.caller)

    @operation("GET /v1/control/events", scope="view", events=EVENTS)
    async def control_events(self, request: FollowControl, call: Call) -> AsyncIterator[Event]:
        """Follow who drives: the state as it is, then every change, as server-sent events.

        A person who follows counts as a viewer: whoever holds control keeps it for as long as the connection lasts.
        """
        return self._follow(call, viewing=request.viewing)

    async def follow(self, call: Call) -> AsyncIterator[Event]:
        """Follow who drives, as a viewer."""
        return self._follow(call, viewing=True)

    @operation("POST /v1/control/request", scope="view", tool="control_request")
    async def request_control(self, request: WantControl, call: Call) -> ControlState:
        """Ask for control: an agent asks the person who has it, a person asks the agent or whoever has it.

        A person who holds control may grant it; the agent that is asked has until `ends_in` to finish, and then it is granted.
        """
        if call.caller.person and not call.caller.may("control"):
            raise PermissionDenied("to drive needs the scope 'control'", scope="control")
        actor, times = actor_of(call.caller), self._keeper.times
        if call.caller.person and self._keeper.policy != "ask" and self._keeper.lease.state == "agent":
            return await self._take(request, call)
        return await self._change("requested", call, lambda lease, now: machine.request(lease, actor, frozenset(request.scope), now, times))

    @operation("DELETE /v1/control/request/{subject}", scope="view")
    async def refuse_request(self, request: Subject, call: Call) -> ControlState:
        """Take your own request back, or answer somebody's with no."""
        if request.subject != call.caller.name and not call.caller.may("control"):
            raise PermissionDenied("to answer for whoever drives needs the scope 'control'", scope="control")
        if request.subject != call.caller.name and not call.caller.decides:
            raise left_to_people("to answer another's request for control")
        return await self._change("withdrawn", call, lambda lease, _: machine.withdraw(lease, request.subject))

    @operation("POST /v1/control/grant", scope="control")
    async def grant_control(self, request: Subject, call: Call) -> ControlState:
        """Answer a request with yes: control goes to who asked."""
        actor, viewing = actor_of(call.caller), self._keeper.is_viewing(request.subject)
        return await self._change("granted", call, lambda lease, now: machine.grant(lease, actor, request.subject, now, viewing=viewing))

    @operation("POST /v1/control/take", scope="control")
    async def take_control(self, request: WantControl, call: Call) -> ControlState:
        """Take control from the agent, at once, as a person; an admin takes it from another person too.

        What the agent was doing on the screen or a page is interrupted, and the keys and buttons that it held are released.
        """
        return await self._take(request, call)

    async def _take(self, request: WantControl, call: Call) -> ControlState:
        actor, viewing = actor_of(call.caller), self._keeper.is_viewing(call.caller.name)
        scope = frozenset(request.scope)
        return await self._change("taken", call, lambda lease, now: machine.take(lease, actor, scope, now, viewing=viewing))

    @operation("POST /v1/control/give", scope="control")
    async def give_control(self, request: GiveControl, call: Call) -> ControlState:
        """Hand control to the agent, to another person, or to everybody at once."""
        actor, viewing, scope = actor_of(call.caller), self._keeper.is_viewing(request.to), frozenset(request.scope)
        return await self._change("given", call, lambda lease, now: machine.give(lease, actor, request.to, scope, now, viewing=viewing))

    @operation("POST /v1/control/release", scope="control")
    async def release_control(self, request: ReleaseControl, call: Call) -> ControlState:
        """Let go of control: the agent has it again, and a receipt of what you changed."""
        actor = actor_of(call.caller)
        return await self._change("released", call, lambda lease, now: machine.release(lease, actor, now), request.note)

    @operation("POST /v1/control/renew", scope="control")
    async def renew_control(self, call: Call) -> ControlState:
        """Say that you are still there: the idle time begins anew."""
        if not self._keeper.holding.is_holder(call.caller):
            raise self._keeper.holding.refusal() if self._keeper.lease.state == "human" else PermissionDenied("you do not have control")
        self._keeper.touch(call.caller)
        return state_of(self._keeper, call.caller)

    @operation("POST /v1/control/private", scope="control")
    async def hide_screen(self, request: HideScreen, call: Call) -> HiddenState:
        """Let nobody else see what you do, as a person: you have control of screen and pages, and you alone see them.

        Everybody else, the agent above all, is refused (423, `private`) or shown a placeholder. It ends with `public`, or
        when you let control go. With `fresh` it happens in a window of its own, which is closed then; where that cannot be opened, the call
        fails, and you are private all the same.
        """
        actor, viewing = actor_of(call.caller), self._keeper.is_viewing(call.caller.name)
        await self._change("private:button", call, lambda lease, now: machine.hide(lease, actor, now, viewing=viewing))
        if request.fresh:
            await self._open_fresh(call.caller.name, request.url or "about:blank")
        return HiddenState(**dict(state_of(self._keeper, call.caller)), fresh=request.fresh)

    async def _open_fresh(self, person: str, url: str) -> None:
        try:
            if self._windows is None:
                raise Unavailable("there is no browser here")
            await self._windows.open_fresh(person, url)
        except Failure as failure:
            why = f"you are private, but no fresh window was opened: {failure}"
            raise Unavailable(why, retry_after=1.0, reason="no_fresh_window", private=self._keeper.holding.private) from failure

    @operation("POST /v1/control/public", scope="control")
    async def show_screen(self, call: Call) -> ControlState:
        """Let everybody see again what you do; you keep control."""
        actor = actor_of(call.caller)
        return await self._change("public", call, lambda lease, now: machine.show(lease, actor, now))

    @operation("POST /v1/control/freeze", scope="control", decides=True)
    async def freeze_control(self, request: FreezeControl, call: Call) -> ControlState:
        """Pause the agent: nobody acts on screen, pages and shells until it is thawed, and the agent's programs stand still.

        `paused` says what was stopped. The desktop and the browser go on, and so does what is started later: a person may take control from
        here, which lets nothing of the agent's go on, and gets shells that run. Where there is no box, programs go on: `paused` is null.
        """
        actor = actor_of(call.caller)
        await self._keeper.change("frozen", actor, lambda lease, now: machine.freeze(lease, actor, now))
        if request.programs == "stop" and self._pause and self._keeper.paused is None:
            paused = await self._pause.pause()
            self._keeper.announce("paused", call.caller, told_of(paused))
        return state_of(self._keeper, call.caller)

    @operation("POST /v1/control/thaw", scope="control", decides=True)
    async def thaw_control(self, call: Call) -> ControlState:
        """Let the agent act again after a freeze, and its programs go on. Who has control by now keeps it."""
        actor = actor_of(call.caller)
        before = self._keeper.paused
        await self._keeper.change("thawed", actor, lambda lease, now: machine.thaw(lease, actor, now))
        if self._pause and (call.caller.person or self._keeper.lease.state == "agent"):
            if self._pause.may_stand:
                await self._pause.resume()
            if before:
                self._keeper.announce("resumed", call.caller, f"{before.count} programs go on")
        return state_of(self._keeper, call.caller)

    async def _change(self, kind: str, call: Call, step: Step, note: str = "") -> ControlState:
        await self._keeper.change(kind, actor_of(call.caller), step, note)
        return state_of(self._keeper, call.caller)

    async def _follow(self, call: Call, *, viewing: bool) -> AsyncIterator[Event]:
        with self._keeper.watching(call.caller) if viewing else nullcontext():
            async for news in self._keeper.news(call.last_event_id):
                control = state_of(self._keeper, call.caller, news.lease)
                change = ControlChange(kind=news.kind, by=news.by, note=news.note, control=control)
                yield Event("control", change, news.id)
