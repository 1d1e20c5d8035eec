"""Sandboxes with the files of others."""

from pathlib import Path

import pytest
from tandem_fleet.errors import ConflictError, SandboxFailedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Spec, State
from tandem_fleet.templates import PoolSize, TemplateContent

from tests.fleet.answering import Answering
from tests.fleet.keeping import ARCHIVE, EXPORT, IMPORT, RESTORE
from tests.fleet.test_fleet import SECONDS, ready
from tests.fleet.test_pools import filled
from tests.fleet.test_snapshots import fleet, gateway, kept, make_fleet
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
__all__ = ["fleet", "gateway", "make_fleet"]


async def test_a_snapshot_becomes_another_sandbox_before_it_is_ready(fleet: Fleet, answers: Answering) -> None:
    await ready(fleet)
    made = await fleet.copies.snapshot("default", "work", "")
    await fleet.snapshots.settle(made.id, SECONDS)
    copies = [await fleet.copies.restore("default", made.id, name="copy", key="k") for _ in range(2)]
    assert copies[0].id == copies[1].id
    done = await fleet.settle(copies[0].id, SECONDS)
    assert (done.name, done.spec.image) == ("copy", "image")
    (taken,) = answers.called(IMPORT)
    assert (taken.body, taken.headers["content-length"]) == (ARCHIVE, str(len(ARCHIVE)))
    assert [call.json for call in answers.called(RESTORE)] == [{"keep": False}]


async def test_a_fork_leaves_nothing_but_its_sandboxes(fleet: Fleet, answers: Answering, tmp_path: Path) -> None:
    await ready(fleet)
    made = await fleet.copies.fork("default", "work", 5)
    for one in made:
        assert (await fleet.settle(one.id, SECONDS)).state == State.READY
    assert len(answers.called(EXPORT)) == 1
    assert len(answers.called(RESTORE)) == 5
    await eventually(lambda: kept(tmp_path) == [], SECONDS)
    assert await fleet.snapshots.page("default", 0, 10) == []


async def test_a_fork_takes_those_that_wait(fleet: Fleet, answers: Answering) -> None:
    await fleet.templates.put("default", "work", TemplateContent(image="image", pool=PoolSize(min=2, max=2)))
    await filled(fleet)
    origin = await fleet.create("default", Spec(template="work"), name="work")
    await fleet.settle(origin.id, SECONDS)

    async def wait_again() -> set[str]:
        members = {sandbox.id for _, sandbox in await fleet.page("", 0, 100, State.READY)}
        return members if len(members) == 2 else set()

    waiting = await eventually(wait_again, SECONDS)
    made = await fleet.copies.fork("default", "work", 2)
    assert {one.id for one in made} == waiting
    for one in made:
        assert (await fleet.settle(one.id, SECONDS)).spec.template == "work@1"


async def test_a_snapshot_outlives_its_template(fleet: Fleet) -> None:
    await fleet.templates.put("default", "work", TemplateContent(image="image", memory_mb=512))
    origin = await fleet.create("default", Spec(template="work"), name="work")
    await fleet.settle(origin.id, SECONDS)
    made = await fleet.copies.snapshot("default", "work", "")
    await fleet.snapshots.settle(made.id, SECONDS)
    await fleet.templates.remove("default", "work")
    copy = await fleet.copies.restore("default", made.id)
    assert (await fleet.settle(copy.id, SECONDS)).spec.memory_mb == 512


async def test_forks_of_one_that_gives_no_files_fail_with_the_reason(fleet: Fleet, answers: Answering) -> None:
    await ready(fleet)
    answers.answers[EXPORT] = (429, {"message": "the disk is full"})
    (copy,) = await fleet.copies.fork("default", "work", 1)
    with pytest.raises(SandboxFailedError, match="the disk is full"):
        await fleet.settle(copy.id, SECONDS)


async def test_a_snapshot_of_which_sandboxes_are_made_stays(fleet: Fleet, answers: Answering) -> None:
    await ready(fleet)
    made = await fleet.copies.snapshot("default", "work", "")
    await fleet.snapshots.settle(made.id, SECONDS)
    answers.answers[RESTORE] = (409, {"message": "no box runs on it"})
    copy = await fleet.copies.restore("default", made.id)
    with pytest.raises(SandboxFailedError, match="no box runs on it"):
        await fleet.settle(copy.id, SECONDS)
    with pytest.raises(ConflictError, match="are being made of"):
        await fleet.snapshots.remove("default", made.id)
