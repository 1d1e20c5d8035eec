"""Sandboxes: made, found, kept alive, asleep, woken, ended."""

import datetime as dt
from typing import Any

from e2b import FileNotFoundException, SandboxException, SandboxNotFoundException, SandboxQuery, SandboxState
from steps import it, noted, refused, run


async def listed(kind: Any, **query: Any) -> list[str]:
    """The ids of a list, all its pages."""
    paginator = noted("SandboxPaginator", kind.list(limit=1, **query))
    found: list[str] = []
    while paginator.has_next:
        found += [one.sandbox_id for one in await it(paginator.next_items())]
    return found


async def program(kind: Any) -> None:
    """The program."""
    metadata = {"run": f"a b/{dt.datetime.now(dt.UTC).timestamp()}"}
    made = await it(kind.create(timeout=900, request_timeout=300, metadata=metadata, envs={"GREETING": "hello"}))
    sandbox = noted("Sandbox", made)
    try:
        await alive(kind, sandbox, metadata)
        await asleep(kind, sandbox)
        await copied(kind, sandbox)
        await networked(kind, sandbox)
        await not_built(sandbox)
    finally:
        assert await it(sandbox.kill())
    assert not await it(sandbox.kill())
    assert not await it(sandbox.is_running())
    await refused(SandboxNotFoundException, sandbox.get_info)


async def alive(kind: Any, sandbox: Any, metadata: dict[str, str]) -> None:
    """What is known of it while it runs."""
    assert await it(sandbox.is_running())
    assert (await it(sandbox.commands.run("echo $GREETING"))).stdout == "hello\n"
    info = await it(sandbox.get_info())
    assert (info.sandbox_id, info.state, info.metadata) == (sandbox.sandbox_id, SandboxState.RUNNING, metadata)
    assert await listed(kind, query=SandboxQuery(metadata=metadata)) == [sandbox.sandbox_id]
    assert sandbox.sandbox_id in await listed(kind)
    await it(sandbox.set_timeout(1200))
    left = (await it(sandbox.get_info())).end_at - dt.datetime.now(dt.UTC)
    assert 1000 < left.total_seconds() <= 1200
    [metrics] = await it(sandbox.get_metrics())
    assert 0 < metrics.mem_used < metrics.mem_total
    assert sandbox.get_host(3000).startswith(f"3000-{sandbox.sandbox_id}.")
    assert sandbox.get_mcp_url().endswith("/mcp")
    await refused(FileNotFoundException, sandbox.get_mcp_token)


async def asleep(kind: Any, sandbox: Any) -> None:
    """What becomes of it when it sleeps."""
    await it(sandbox.commands.run("sleep 1000", background=True))
    assert await it(sandbox.pause())
    assert not await it(sandbox.pause())
    assert not await it(sandbox.beta_pause())
    assert not await it(sandbox.is_running())
    assert await listed(kind, query=SandboxQuery(state=[SandboxState.PAUSED])) == [sandbox.sandbox_id]
    again = noted("Sandbox", await it(kind.connect(sandbox.sandbox_id, timeout=900)))
    assert (await it(again.commands.run("pgrep --exact sleep"))).exit_code == 0


async def copied(kind: Any, sandbox: Any) -> None:
    """Its files are those of others."""
    await it(sandbox.files.write("kept.txt", "as it was"))
    kept = await it(sandbox.create_snapshot(name="e2b-program"))
    assert kept.names == ["e2b-program"]
    paginator = noted("SnapshotPaginator", sandbox.list_snapshots())
    assert [one.snapshot_id for one in await it(paginator.next_items())] == [kept.snapshot_id]
    await it(sandbox.files.write("kept.txt", "since then"))
    (fork,) = await it(sandbox.fork(timeout=600))
    of_name = await it(kind.create("e2b-program", timeout=600, request_timeout=300))
    for one, text in ((fork, "since then"), (of_name, "as it was")):
        assert await it(one.files.read("kept.txt")) == text
        assert await it(one.kill())
    assert await it(sandbox.delete_snapshot(kept.snapshot_id))
    assert not await it(sandbox.delete_snapshot(kept.snapshot_id))


async def networked(kind: Any, sandbox: Any) -> None:
    """What it reaches is changed while it runs, and denied from the start; root is no exception."""

    async def refusal(one: Any) -> str:
        done = await it(one.commands.run("curl -s --max-time 5 http://elsewhere.example/ || true", user="root"))
        return str(done.stdout)

    assert "not allowed (default)" not in await refusal(sandbox)
    await it(sandbox.update_network({"deny_out": ["0.0.0.0/0"]}))
    assert "not allowed (default)" in await refusal(sandbox)
    alone = await it(kind.create(timeout=600, request_timeout=300, allow_internet_access=False))
    assert "not allowed (default)" in await refusal(alone)
    assert await it(alone.kill())


async def not_built(sandbox: Any) -> None:
    """What is refused is said so."""
    error = await refused(SandboxException, lambda: sandbox.update_network({"rules": {"a.example": []}}))
    assert "501" in str(error), error


run(program)
