"""Shutdown hooks: commands that run as the agent while the container stops."""

from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Model, NotFound, PermissionDenied, ResourceExhausted, operation
from sandbox_server.drivers.storage.shutdown_hooks import ShutdownHookStore
from sandbox_server.settings import ShutdownHook

MAX_HOOKS = 100

HookEvent = Literal["shutdown"]
HookName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$", max_length=64)]
HookCommand = Annotated[str, Field(min_length=1, max_length=4096)]


class RegisterHookRequest(Model):
    name: HookName
    """Unique name. Registering it again replaces its hook."""
    command: HookCommand
    """Shell command, run as the agent in the workspace."""
    event: HookEvent = "shutdown"
    """When it runs."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 10.0
    """Seconds after which it is killed."""
    priority: int = 100
    """Hooks with a lower priority run first. Hooks of one priority run concurrently."""


class SandboxHook(Model):
    name: str
    command: str
    event: HookEvent = "shutdown"
    timeout: float = 10.0
    priority: int = 100
    source: Literal["env", "api"] = "api"
    """Whether it came from `SANDBOX_SHUTDOWN_HOOKS` or from a call."""


class ListHooksRequest(Model):
    event: HookEvent = "shutdown"
    """Which hooks to list."""


class HookRef(Model):
    name: str


class Hooks:
    """The shutdown hooks of this container. They survive a restart of the server."""

    tag = "sandbox"

    def __init__(self, store: ShutdownHookStore, configured: tuple[ShutdownHook, ...]) -> None:
        self._store = store
        self._configured = {hook.name: hook for hook in configured}

    @operation("POST /v1/sandbox/hooks", scope="admin")
    async def register_hook(self, request: RegisterHookRequest) -> SandboxHook:
        """Register a command to run while the container stops."""
        if request.name in self._configured:
            raise Conflict(f"the hook {request.name!r} is set in the environment and cannot be changed", name=request.name)
        hooks = {hook.name: hook for hook in self._store.read()}
        hooks[request.name] = ShutdownHook(request.name, request.command, request.timeout, request.priority)
        if len(hooks) > MAX_HOOKS:
            raise ResourceExhausted(f"at most {MAX_HOOKS} hooks are allowed", limit=MAX_HOOKS)
        self._store.write(hooks.values())
        return _shown(hooks[request.name], "api")

    @operation("GET /v1/sandbox/hooks", scope="view")
    async def list_hooks(self, request: ListHooksRequest) -> list[SandboxHook]:
        """List the hooks in the order in which they run."""
        hooks = [_shown(hook, "env") for hook in self._configured.values()]
        hooks += [_shown(hook, "api") for hook in self._store.read()]
        return sorted(hooks, key=lambda hook: (hook.priority, hook.name))

    @operation("DELETE /v1/sandbox/hooks/{name}", scope="admin")
    async def remove_hook(self, request: HookRef) -> None:
        """Remove a hook that was registered by a call."""
        if request.name in self._configured:
            raise PermissionDenied(f"the hook {request.name!r} is set in the environment and cannot be removed", name=request.name)
        hooks = {hook.name: hook for hook in self._store.read()}
        if hooks.pop(request.name, None) is None:
            raise NotFound(f"there is no hook {request.name!r}", name=request.name)
        self._store.write(hooks.values())


def _shown(hook: ShutdownHook, source: Literal["env", "api"]) -> SandboxHook:
    return SandboxHook(name=hook.name, command=hook.command, timeout=hook.timeout, priority=hook.priority, source=source)
