"""The guard on operations of the browser that are not of a lane: they are in `main`, and would act on other pages than meant."""

from pydantic import BaseModel

from sandbox_server.core import Call, InvalidArgument, PermissionDenied
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.browser.lane_names import FIELD, HEADER, MAIN

OWN = "lanes"
"""The tag of the operations of lanes, which look at the names that they are given themselves."""
KEPT_PICTURES = frozenset({"display", "recorder"})
"""Tags of recordings of the screen, and of what was recorded before."""
_OF_PAGES = frozenset({"gui", "cdp"})
_HINT = "Lanes are for DevTools clients: connect to /cdp?lane=NAME."


async def only_main(operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
    """Guard: refuse an operation of the browser or the screen to a token that names lanes, and to a call that names one."""
    spec = operation.spec
    reaches = operation.tag in KEPT_PICTURES or spec.scope == "browser" or spec.shows or bool(_OF_PAGES & set(spec.acts))
    if operation.tag == OWN or not reaches:
        return await proceed()
    if call.caller.lanes is not None:
        raise PermissionDenied(f"{operation.name} is of the whole browser or the screen, and your token names lanes", hint=_HINT)
    if (call.headers.get(HEADER) or call.query.get(FIELD) or MAIN) != MAIN:
        raise InvalidArgument(f"{operation.name} acts in {MAIN!r}, and not in a lane", hint=_HINT, field=FIELD)
    return await proceed()
