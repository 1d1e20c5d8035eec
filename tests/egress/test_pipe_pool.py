import os

from sandbox_server.egress import pipe_pool
from sandbox_server.egress.pipe_pool import LARGE, SMALL, PipePool


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_pipe_that_was_given_back_is_taken_again() -> None:
    pool = PipePool()
    small, large = pool.take(large=False), pool.take(large=True)
    assert (small.size, large.size) == (SMALL, LARGE)
    pool.give(small)
    pool.give(large)
    assert pool.take(large=False) is small
    assert pool.take(large=True) is large
    for pipe in (small, large):
        pool.discard(pipe)


def test_large_pipes_are_few() -> None:
    pool = PipePool()
    taken = [pool.take(large=True) for _ in range(pipe_pool.MAX_LARGE + 5)]
    assert sum(pipe.size == LARGE for pipe in taken) == pipe_pool.MAX_LARGE
    pool.discard(taken[0])
    another = pool.take(large=True)
    assert another.size == LARGE
    for pipe in (*taken[1:], another):
        pool.discard(pipe)


def test_so_many_small_ones_are_kept_and_closing_leaves_none() -> None:
    before, pool = open_descriptors(), PipePool()
    taken = [pool.take(large=False) for _ in range(pipe_pool.MAX_KEPT + 10)]
    for pipe in taken:
        pool.give(pipe)
    assert open_descriptors() == before + 2 * pipe_pool.MAX_KEPT
    pool.close()
    assert open_descriptors() == before
