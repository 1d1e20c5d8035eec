"""What waits for one client."""

import anyio
import pytest

from sandbox_server.cdp.outbox import Outbox, SharedBacklog

pytestmark = pytest.mark.anyio


async def test_messages_come_out_in_order_and_then_the_end() -> None:
    outbox = Outbox()
    outbox.put(b"one")
    outbox.put(b"two")
    outbox.close("the page was closed")
    outbox.put(b"too late")
    with anyio.fail_after(30):
        assert [await outbox.get(), await outbox.get(), await outbox.get()] == [b"one", b"two", None]
    assert (outbox.closed, outbox.overflowed) == ("the page was closed", False)


async def test_who_waits_is_woken_by_a_message_and_by_the_end() -> None:
    outbox, got = Outbox(), []

    async def drain() -> None:
        while (message := await outbox.get()) is not None:
            got.append(message)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drain)
            await anyio.wait_all_tasks_blocked()
            outbox.put(b"x")
            await anyio.wait_all_tasks_blocked()
            outbox.close("done")
    assert got == [b"x"]


async def test_one_message_may_be_larger_than_the_bound_but_nothing_may_wait_behind_it() -> None:
    outbox = Outbox(limit=10)
    outbox.put(b"x" * 100)
    assert outbox.closed is None
    outbox.put(b"y")
    assert outbox.overflowed
    assert outbox.closed is not None
    assert "100 bytes" in outbox.closed
    with anyio.fail_after(30):
        await outbox.overflow()
        assert await outbox.get() is None


async def test_a_client_that_keeps_up_is_never_over_its_bound() -> None:
    outbox = Outbox(limit=10)
    with anyio.fail_after(30):
        for _ in range(100):
            outbox.put(b"x" * 8)
            assert await outbox.get() == b"x" * 8
    assert outbox.closed is None


async def test_of_clients_that_share_the_one_that_reads_goes_on() -> None:
    share = SharedBacklog(10)
    slow, quick = Outbox(100, share), Outbox(100, share)
    slow.put(b"x" * 11)
    quick.put(b"y")
    assert await quick.get() == b"y"
    slow.put(b"x")
    assert (slow.overflowed, quick.overflowed, share.waiting) == (True, False, 0)


def test_what_waits_for_a_client_that_has_gone_counts_no_more() -> None:
    share = SharedBacklog(10)
    gone = Outbox(100, share)
    gone.put(b"x" * 11)
    gone.drop()
    assert not share.exceeded
