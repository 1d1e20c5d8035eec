"""Sandboxes by E2B's rules."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.responses import Response
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.e2b.control_messages import NewSandbox
from tandem_fleet.e2b.lifetimes import Lifetimes, cpu_count
from tandem_fleet.e2b.sandbox_calls import SandboxClients
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Spec
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database
from tandem_fleet.store.e2b import DeadlineStore
from tandem_fleet.templates import TemplateContent

from tests.fleet.e2b.stub_sandbox import StubSandbox, described, refused
from tests.fleet.engines import MemoryBackend

pytestmark = pytest.mark.anyio


@pytest.fixture
def lifetimes(fleet: Fleet, clients: SandboxClients) -> Lifetimes:
    """The rules, over the fleet."""
    return Lifetimes(fleet, DeadlineStore(fleet.database), clients, SandboxTokens(fleet.key))


async def test_a_template_is_an_image(lifetimes: Lifetimes, fleet: Fleet) -> None:
    images = []
    for template in ("base", "code-interpreter-v1", "mine:1"):
        made = await lifetimes.create("default", NewSandbox.model_validate({"templateID": template}), "")
        images.append((await fleet.get(made.sandbox_id)).spec.image)
    assert images == ["image", "image", "mine:1"]


async def test_a_template_of_the_fleet_goes_before_an_image(lifetimes: Lifetimes, fleet: Fleet) -> None:
    await fleet.templates.put("default", "base", TemplateContent(image="small", environment={"A": "1"}))
    made = await lifetimes.create("default", NewSandbox.model_validate({"templateID": "base"}), "")
    spec = (await fleet.get(made.sandbox_id)).spec
    assert (spec.image, spec.environment, spec.template) == ("small", {"A": "1"}, "base@1")
    assert (await lifetimes.listed(await fleet.get(made.sandbox_id))).template_id == "base"


async def test_one_that_was_made_otherwise_has_no_end(lifetimes: Lifetimes, fleet: Fleet) -> None:
    made = await fleet.settle((await fleet.create("default", Spec(image="image"), name="work")).id, 60)
    opened, slept = await lifetimes.connect("default", "work", 60)
    assert (opened.sandbox_id, slept) == (made.id, False)
    assert (await lifetimes.listed(made)).end_at.year == 9999
    await fleet.order("default", "work", Desired.PAUSED)
    await fleet.settle(made.id, 60)
    assert (await lifetimes.connect("default", "work", 60))[1]
    assert (await lifetimes.listed(await fleet.get(made.id))).end_at.year == 9999
    await lifetimes.live_for("default", "work", 60)
    assert (await lifetimes.listed(made)).end_at < datetime.now(UTC) + timedelta(seconds=61)


async def test_connecting_does_not_shorten_a_life(lifetimes: Lifetimes, fleet: Fleet) -> None:
    made = await lifetimes.create("default", NewSandbox.model_validate({"templateID": "base", "timeout": 3600}), "")
    await lifetimes.connect("default", made.sandbox_id, 1)
    assert (await lifetimes.listed(await fleet.get(made.sandbox_id))).end_at > datetime.now(UTC) + timedelta(seconds=3000)


async def test_one_that_is_being_removed_is_gone(lifetimes: Lifetimes, fleet: Fleet) -> None:
    made = await lifetimes.create("default", NewSandbox.model_validate({"templateID": "base"}), "")
    await lifetimes.kill("default", made.sandbox_id)
    for call in (lifetimes.find("default", made.sandbox_id), lifetimes.kill("default", made.sandbox_id)):
        with pytest.raises(NotFoundError):
            await call
    assert [one async for one in lifetimes.all("default")] == []


def test_processors_are_counted() -> None:
    assert cpu_count(described("").model_copy(update={"spec": Spec(cpus=1.5)})) == 2
    assert cpu_count(described("")) >= 1


@pytest.fixture
async def keeping(engine: MemoryBackend, stub: StubSandbox, tmp_path: Path) -> AsyncIterator[Fleet]:
    """A fleet with a folder for snapshots, whose sandboxes give and take checkpoints."""
    stub.on("POST /v1/checkpoints", lambda _: {"checkpoint": {"id": "c0ffee"}})
    stub.on("GET /v1/checkpoints/c0ffee/archive", lambda _: Response(b"files"))
    stub.on("POST /v1/checkpoints/import", lambda _: {"id": "beef"})
    stub.on("POST /v1/checkpoints/beef/restore", lambda _: {})
    stub.on("POST /v1/sandbox/bind", lambda _: {})
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/keeping.db")
    async with Fleet(database, engine, SigningKey.kept(tmp_path / "key.pem"), "image", snapshots=tmp_path / "snapshots") as opened:
        yield opened


async def test_a_snapshot_is_the_template_of_others(keeping: Fleet, clients: SandboxClients, stub: StubSandbox) -> None:
    lifetimes = Lifetimes(keeping, DeadlineStore(keeping.database), clients, SandboxTokens(keeping.key))
    first = await lifetimes.create("default", NewSandbox.model_validate({"templateID": "base", "envVars": {"A": "1"}}), "")
    kept = await lifetimes.snapshots.make(await keeping.get(first.sandbox_id), "mine")
    for template in (kept.snapshot_id, "mine"):
        fields = {"templateID": template, "timeout": 600, "metadata": {"copy": template}}
        made = await keeping.get((await lifetimes.create("default", NewSandbox.model_validate(fields), "")).sandbox_id)
        listed = await lifetimes.listed(made)
        assert (made.spec.image, listed.template_id, listed.metadata) == ("image", template, {"copy": template})
    assert len(stub.calls("POST /v1/checkpoints/beef/restore")) == 2


async def test_forks_live_as_long_as_was_asked_for_and_one_that_fails_says_why(
    keeping: Fleet, clients: SandboxClients, stub: StubSandbox
) -> None:
    lifetimes = Lifetimes(keeping, DeadlineStore(keeping.database), clients, SandboxTokens(keeping.key))
    first = await lifetimes.create("default", NewSandbox.model_validate({"templateID": "base", "timeout": 3600}), "")
    forks = await lifetimes.fork("default", first.sandbox_id, 2, 60)
    assert all(one.sandbox and one.error is None for one in forks)
    for one in forks:
        assert one.sandbox
        end = (await lifetimes.listed(await keeping.get(one.sandbox.sandbox_id))).end_at
        assert timedelta(0) < end - datetime.now(UTC) <= timedelta(seconds=60)
    stub.on("POST /v1/checkpoints", lambda _: refused(507, "the disk is full"))
    (failed,) = await lifetimes.fork("default", first.sandbox_id, 1, 60)
    assert failed.error
    assert (failed.sandbox, failed.error.code) == (None, 500)
    assert "the disk is full" in failed.error.message


async def test_one_that_sleeps_is_not_forked(lifetimes: Lifetimes) -> None:
    made = await lifetimes.create("default", NewSandbox.model_validate({"templateID": "base"}), "")
    await lifetimes.pause("default", made.sandbox_id, memory=True)
    with pytest.raises(ConflictError, match="is paused"):
        await lifetimes.fork("default", made.sandbox_id, 1, 60)
