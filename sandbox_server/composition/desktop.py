"""The desktop: screen, keyboard, sound and clipboard, for people and agents."""

from collections.abc import Callable
from dataclasses import dataclass

from sandbox_server.composition.control import ControlParts
from sandbox_server.composition.desktop_programs import BashPrograms
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.work import Work
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.vnc.server import VncServer
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.features.browser.screenshots import Pictures
from sandbox_server.features.browser.windows.clipboard import DesktopClipboard
from sandbox_server.features.browser.windows.programs import DesktopPrograms
from sandbox_server.features.browser.windows.windows import DesktopWindows
from sandbox_server.features.control.private_mode import ClearClipboard
from sandbox_server.features.control.revocation_hooks import ReleaseKeys
from sandbox_server.features.display import Display
from sandbox_server.features.vnc import Vnc


@dataclass(frozen=True, slots=True)
class DesktopAndInput:
    """The desktop, and the input turns of its callers."""

    desktop: Desktop
    turns: InputTurns
    part: ProductPart


def build_desktop(machine: MachineParts, control: ControlParts, work: Work) -> DesktopAndInput:
    """Make them. Input and clipboard follow the control lease. Recordings are counted in its `activity`."""
    paths, desktop = machine.settings.paths, Desktop(machine.settings.display.name)
    turns = InputTurns(desktop)
    control.keeper.follow(ReleaseKeys(turns))
    control.keeper.follow(ClearClipboard(desktop.clipboard))
    display = Display(desktop.screen, PulseAudio(paths.sound), machine.files, private_mode(control))
    work.activity.follow_recordings(lambda: display.recording)
    features = (
        Pictures(desktop),
        Vnc(VncServer(paths.vnc), desktop, control.keeper),
        display,
        DesktopWindows(desktop, turns),
        DesktopClipboard(desktop.clipboard),
        DesktopPrograms(desktop, BashPrograms(work.bash)),
    )
    return DesktopAndInput(desktop, turns, ProductPart(features, (desktop, turns, display)))


def private_mode(control: ControlParts) -> Callable[[], bool]:
    """Return a function that tells whether a person is in private mode."""
    return lambda: control.private
