from uuid import uuid4

from tests.image.sdk.calls import Calls, drives


@drives("sandbox.get_context")
async def describe(calls: Calls) -> None:
    answer = await calls("sandbox.get_context")

    assert answer.success is True
    assert (answer.home_dir, answer.detail.system.user, answer.detail.system.arch) == ("/home/gem", "gem", "x86_64")
    assert answer.detail.runtime.python[0].ver.startswith("3.")
    assert "- Home directory: /home/gem" in answer.data


@drives("sandbox.get_python_packages", "sandbox.get_nodejs_packages")
async def packages(calls: Calls) -> None:
    for name in ("sandbox.get_python_packages", "sandbox.get_nodejs_packages"):
        assert isinstance((await calls(name)).data, list)


@drives("sandbox.register_hook", "sandbox.list_hooks", "sandbox.remove_hook")
async def hooks(calls: Calls) -> None:
    name = f"hook-{uuid4().hex[:8]}"
    made = (await calls("sandbox.register_hook", name=name, command="true", timeout=3.5, priority=7)).data
    listed = (await calls("sandbox.list_hooks", event="shutdown")).data
    await calls("sandbox.remove_hook", name=name)

    assert (made.name, made.event, made.command, made.timeout, made.priority, made.source) == (name, "shutdown", "true", 3.5, 7, "api")
    assert name in [hook.name for hook in listed]
    assert (await calls.fails("sandbox.remove_hook", name=name)).status_code == 404
