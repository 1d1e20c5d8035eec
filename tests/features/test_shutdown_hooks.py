import pytest

from sandbox_server.core import Conflict, NotFound, PermissionDenied, ResourceExhausted
from sandbox_server.drivers.storage.shutdown_hooks import ShutdownHookStore
from sandbox_server.features.shutdown_hooks import MAX_HOOKS, HookRef, Hooks, ListHooksRequest, RegisterHookRequest
from sandbox_server.settings import ShutdownHook

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: object) -> ShutdownHookStore:
    return ShutdownHookStore(f"{tmp_path}/hooks.json")


@pytest.fixture
def hooks(store: ShutdownHookStore) -> Hooks:
    return Hooks(store, (ShutdownHook("from-env", "sync", priority=50),))


async def test_hooks_are_listed_in_the_order_in_which_they_run(hooks: Hooks) -> None:
    await hooks.register_hook(RegisterHookRequest(name="late", command="true", priority=200))
    await hooks.register_hook(RegisterHookRequest(name="early", command="true", priority=1))

    listed = await hooks.list_hooks(ListHooksRequest())

    assert [(hook.name, hook.source) for hook in listed] == [("early", "api"), ("from-env", "env"), ("late", "api")]


async def test_a_registered_hook_survives_a_restart_of_the_server(hooks: Hooks, store: ShutdownHookStore) -> None:
    await hooks.register_hook(RegisterHookRequest(name="save", command="sync", timeout=3))

    [hook] = await Hooks(store, ()).list_hooks(ListHooksRequest())

    assert (hook.name, hook.command, hook.timeout) == ("save", "sync", 3)


async def test_registering_a_name_again_replaces_its_hook(hooks: Hooks, store: ShutdownHookStore) -> None:
    await hooks.register_hook(RegisterHookRequest(name="save", command="one"))
    await hooks.register_hook(RegisterHookRequest(name="save", command="two"))

    assert [hook.command for hook in store.read()] == ["two"]


async def test_a_hook_from_the_environment_can_be_neither_replaced_nor_removed(hooks: Hooks) -> None:
    with pytest.raises(Conflict):
        await hooks.register_hook(RegisterHookRequest(name="from-env", command="true"))
    with pytest.raises(PermissionDenied):
        await hooks.remove_hook(HookRef(name="from-env"))


async def test_removing_an_unknown_hook_names_it(hooks: Hooks) -> None:
    with pytest.raises(NotFound, match="'missing'"):
        await hooks.remove_hook(HookRef(name="missing"))


async def test_removing_a_hook_forgets_it(hooks: Hooks, store: ShutdownHookStore) -> None:
    await hooks.register_hook(RegisterHookRequest(name="save", command="sync"))

    await hooks.remove_hook(HookRef(name="save"))

    assert store.read() == []


async def test_hooks_have_a_limit(hooks: Hooks, store: ShutdownHookStore) -> None:
    store.write(ShutdownHook(f"hook-{number}", "true") for number in range(MAX_HOOKS))

    with pytest.raises(ResourceExhausted):
        await hooks.register_hook(RegisterHookRequest(name="one-more", command="true"))
