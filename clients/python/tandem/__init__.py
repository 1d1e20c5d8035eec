"""A client of Tandem: one Linux computer, shared by an agent and a person.

```python
from tandem import Sandbox

with Sandbox.start() as sandbox:
    print(sandbox.shell.run("uname -a").stdout)
    answer = sandbox.ask("Shall I go on?", kind="confirm")
```
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem._async.sandbox import AsyncSandbox as AsyncSandbox
    from tandem._sync.sandbox import Sandbox as Sandbox
    from tandem.errors import ApiError as ApiError
    from tandem.errors import CommandFailed as CommandFailed
    from tandem.errors import Conflict as Conflict
    from tandem.errors import HeldByPerson as HeldByPerson
    from tandem.errors import InvalidRequest as InvalidRequest
    from tandem.errors import LimitReached as LimitReached
    from tandem.errors import NotFound as NotFound
    from tandem.errors import PermissionDenied as PermissionDenied
    from tandem.errors import TandemError as TandemError
    from tandem.errors import Unavailable as Unavailable
    from tandem.errors import Unreachable as Unreachable
    from tandem.wire import Event as Event

_PLACES = {"AsyncSandbox": "tandem._async.sandbox", "Sandbox": "tandem._sync.sandbox", "Event": "tandem.wire"}


def __getattr__(name: str) -> Any:
    """A name that is imported when it is used first."""
    import importlib

    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(importlib.import_module(_PLACES.get(name, "tandem.errors")), name)
