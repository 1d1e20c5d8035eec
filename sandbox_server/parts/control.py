"""Who drives: the lease, and the guard on every call that acts. What has to follow it joins with the parts that have it."""

from sandbox_server.parts.shared import Part, Shared


def part(shared: Shared) -> Part:
    """The lease that `shared` holds, as operations and as a guard."""
    control = shared.control
    return Part(control.features, control.opened, control.guards)
