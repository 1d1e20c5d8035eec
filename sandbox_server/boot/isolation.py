"""Chooses the isolation level that this host allows. A lower level is always announced."""

import os
from dataclasses import replace

from sandbox_server.drivers.box import host_capabilities as box_host
from sandbox_server.drivers.box import isolation_probe as box_probe
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import Settings

GVISOR = "the kernel is gVisor's, in which there is no box"


class NotIsolatedError(Exception):
    """A box is required (`BOX=on`) and this host does not allow one, or the box's volume is damaged."""


def choose(settings: Settings) -> Isolation:
    """Return the highest possible isolation level.

    Raises NotIsolatedError if BOX=on and the level is not `box`, or the box's volume is damaged or of another version.
    """
    host = box_host.look()
    chosen = _highest(settings, host)
    chosen = replace(chosen, conditions=tuple(host.conditions), flags=() if chosen.level == "box" else _flags(settings, host))
    if settings.box.mode == "on" and chosen.level != "box":
        raise NotIsolatedError(f"BOX=on, but this host allows no box: {chosen.reason}")
    return chosen


def _highest(settings: Settings, host: box_host.Host) -> Isolation:
    if os.geteuid() != 0:
        return Isolation("none", "the container was not started as root")
    reason = "BOX=off" if settings.box.mode == "off" else box_probe.probe(settings.box.directory)
    if reason is None:
        try:
            BoxStore(settings.box.directory).check()
        except StoreError as error:
            raise NotIsolatedError(f"{error}. Put the volume back, or start with a new one") from None
        return Isolation("box", "", storage=box_probe.storage(settings.box.directory))
    if host.gvisor:
        reason = f"{GVISOR} ({reason})"
    return Isolation("users", reason, root_withheld=not host.gvisor and box_probe.can_write_host_settings())


def _flags(settings: Settings, host: box_host.Host) -> tuple[str, ...]:
    return (*host.flags, *(["BOX=auto"] if settings.box.mode == "off" and not host.gvisor else []))


def announce(settings: Settings, chosen: Isolation) -> str | None:
    """Save the choice for the other processes. Return a sentence about what is lost; None if nothing is."""
    control = (settings.users.control_uid, settings.users.control_uid)
    atomic_write.replace(settings.paths.isolation, chosen.encode(), mode=0o400, owner=control)
    if chosen.level == "users" and settings.box.mode != "off":
        lost = "there is no box for the agent, who is an ordinary user of this container: no undo, no root that cannot hurt"
        withheld = "; it may not become root, because root could write the host's settings here" if chosen.root_withheld else ""
        won = "GET /v1/capabilities says how to win it" if chosen.flags else "GET /v1/doctor says what holds"
        return f"{lost}{withheld}. The kernel says: {chosen.reason}. {won}"
    return None
