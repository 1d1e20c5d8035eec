"""The X server says where it was drawn on, once for each time that it is asked."""

from Xlib import X
from Xlib import display as xlib

from sandbox_server.drivers.x11.damage import MAX_RECTS, Damage
from tests.drivers.x11.conftest import XServer


def fill(display: xlib.Display, *areas: tuple[int, int, int, int]) -> None:
    root = display.screen().root
    gc = root.create_gc(foreground=0x123456)
    for area in areas:
        root.fill_rectangle(gc, *area)
    display.sync()


def fetched(display: xlib.Display) -> Damage:
    """Damage that has been asked once, for the whole screen, with which it begins, and no event of which is left."""
    damage = Damage(display)
    damage.fetch()
    while display.pending_events():
        display.next_event()
    return damage


def test_what_is_drawn_on_is_said_and_then_forgotten(xserver: XServer) -> None:
    display = xlib.Display(xserver.name)
    damage = fetched(display)
    fill(display, (10, 20, 30, 40), (300, 200, 5, 6))
    assert sorted(damage.fetch()) == [(10, 20, 30, 40), (300, 200, 5, 6)]
    assert damage.fetch() in ([], [(0, 0, 0, 0)])
    display.close()


def test_one_event_announces_damage(xserver: XServer) -> None:
    display, other = xlib.Display(xserver.name), xlib.Display(xserver.name)
    damage = fetched(display)
    fill(other, (1, 2, 3, 4), (50, 60, 7, 8))
    assert damage.is_in(display.next_event())
    display.sync()
    assert display.pending_events() == 0
    other.close()
    display.close()


def test_many_areas_are_the_one_around_them(xserver: XServer) -> None:
    display = xlib.Display(xserver.name)
    damage = fetched(display)
    fill(display, *[(number * 20, number * 20, 5, 5) for number in range(MAX_RECTS + 8)])
    assert damage.fetch() == [(0, 0, 785, 785)]
    display.close()


def test_an_event_of_something_else_is_not_its(xserver: XServer) -> None:
    display = xlib.Display(xserver.name)
    damage = fetched(display)
    display.screen().root.change_attributes(event_mask=X.StructureNotifyMask | X.SubstructureNotifyMask)
    damage.close()
    display.screen().root.create_window(0, 0, 5, 5, 0, X.CopyFromParent).map()
    assert not damage.is_in(display.next_event())
    display.close()
