"""What one viewer may do: the scopes of its caller and the control lease, in one place."""

from collections.abc import Callable
from typing import Protocol

from sandbox_server.core.results import Caller
from sandbox_server.stream import wire


class ViewerLease(Protocol):
    """The control lease, as one viewer has it."""

    drives: bool
    """Whether the viewer's input counts now."""
    sees: bool | None
    """Whether the viewer may see the screen now. None until that is known, and then it may not."""
    programs: bool
    """Whether programs act on the screen now, and no person does."""
    changed: Callable[[], None]
    """Called whenever any of these is different."""

    async def act(self) -> bool:
        """Ask for an input that acts: whether it counts. A person's first one takes control, where the settings let it."""


class ViewerAccess:
    """The rights of one viewer, asked anew each time. `has_microphone`: whether the desktop has one."""

    def __init__(self, caller: Caller, lease: ViewerLease, *, has_microphone: bool = False) -> None:
        self._caller = caller
        self._lease = lease
        self._has_microphone = has_microphone

    @property
    def name(self) -> str:
        """The caller's name."""
        return self._caller.name

    @property
    def may_control(self) -> bool:
        """Whether the caller has the scope `control`."""
        return self._caller.may("control")

    @property
    def drives(self) -> bool:
        """Whether the viewer's input counts now."""
        return self._lease.drives

    @property
    def sees(self) -> bool:
        """Whether the viewer may be shown the screen now."""
        return bool(self._lease.sees)

    @property
    def is_hidden(self) -> bool:
        """Whether the screen is known to be hidden from the viewer: a person is in private mode."""
        return self._lease.sees is False

    @property
    def may_speak(self) -> bool:
        """Whether the microphone may hear the viewer now."""
        return self.may_control and self.drives and self.sees

    @property
    def sees_echo(self) -> bool:
        """Whether the viewer is told what programs do: it is not for who drives."""
        return self._lease.programs and not self.drives

    @property
    def only_watches(self) -> bool:
        """Whether this is a person who does not drive."""
        return self._caller.person and not self.drives

    @property
    def rights(self) -> int:
        """The bits of `hello` and `rights`."""
        hidden = wire.HIDDEN if self.is_hidden else 0
        if not self.may_control:
            return hidden
        return hidden | wire.MAY_ACT | (wire.MAY_SPEAK if self._has_microphone else 0) | (wire.DRIVES if self.drives else 0)

    async def ask_to_act(self) -> bool:
        """Whether an input that acts counts; asking for it may take control."""
        return await self._lease.act()
