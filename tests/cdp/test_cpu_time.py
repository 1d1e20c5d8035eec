"""How much a process has done."""

import os
import time

from sandbox_server.cdp.cpu_time import work_of


def test_a_process_that_works_gets_on() -> None:
    before = work_of(os.getpid())
    assert before is not None
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    after = work_of(os.getpid())
    assert after is not None
    assert after > before


def test_of_a_process_that_is_not_there_nothing_is_known() -> None:
    assert work_of(2**22 + 1) is None
