"""What waits for one client."""

from collections.abc import Callable

import anyio
import pytest

from sandbox_server.cdp.outbox import LITTLE_BYTES, Outbox, SharedBacklog

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


class Connection:
    """A connection that holds as much as a test says, until it is ended."""

    def __init__(self, held: int) -> None:
        self.size = held
        self.lost = False
        self.grown: Callable[[], None] = lambda: None

    @property
    def held(self) -> int:
        return 0 if self.lost else self.size

    def abort(self) -> None:
        self.lost = True


def connected(share: SharedBacklog, caller: str, held: int) -> tuple[Outbox, Connection]:
    outbox, connection = Outbox(share=share), Connection(held)
    outbox.connect(connection, caller)
    return outbox, connection


def test_what_is_on_the_way_to_clients_that_never_read_counts_and_the_largest_of_who_has_most_goes() -> None:
    share = SharedBacklog(10 * LITTLE_BYTES)
    (first, one), (second, two) = connected(share, "agent", 4 * LITTLE_BYTES), connected(share, "agent", 3 * LITTLE_BYTES)
    other, three = connected(share, "other", 5 * LITTLE_BYTES)
    other.put(b"x")
    assert [each.lost for each in (one, two, three)] == [True, False, False]
    assert (first.overflowed, second.overflowed, other.overflowed) == (True, False, False)
    assert first.closed == "the clients of programs are too slow: 4194304 bytes wait for this one"


def test_a_message_that_grows_while_it_comes_counts_too() -> None:
    share = SharedBacklog(10 * LITTLE_BYTES)
    clients = [connected(share, "agent", 4 * LITTLE_BYTES) for _ in range(5)]
    clients[0][1].grown()
    assert sum(connection.held for _, connection in clients) <= 10 * LITTLE_BYTES


def test_one_large_message_goes_on_and_who_holds_little_is_ended_for_nobody() -> None:
    share = SharedBacklog(10 * LITTLE_BYTES)
    small = [connected(share, "agent", LITTLE_BYTES - 1) for _ in range(5)]
    large, connection = connected(share, "other", 100 * LITTLE_BYTES)
    large.put(b"x")
    assert not connection.lost
    assert not any(each.lost for _, each in small)


def test_a_client_that_was_told_to_go_counts_until_its_connection_is_lost() -> None:
    share = SharedBacklog(10 * LITTLE_BYTES)
    gone, lingering = connected(share, "agent", 11 * LITTLE_BYTES)
    gone.close("the page was closed")
    gone.drop()
    assert share.exceeded
    connected(share, "agent", LITTLE_BYTES)[0].put(b"x")
    assert (lingering.lost, share.exceeded) == (True, False)
