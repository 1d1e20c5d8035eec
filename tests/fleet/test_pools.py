"""Sandboxes that wait for who asks for one."""

import asyncio
from typing import Any

import pytest
from tandem_fleet import pools
from tandem_fleet.errors import ConflictError
from tandem_fleet.fleet import Fleet
from tandem_fleet.idle_policy import IdlePolicy
from tandem_fleet.pools import Pool, key_of, target
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State
from tandem_fleet.store.templates import SHARED
from tandem_fleet.store.tenants import TenantStore
from tandem_fleet.templates import PoolSize, TemplateContent

from tests.fleet.answering import Answering, Call
from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS
from tests.fleet.test_reconciler import MakeFleet
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
BIND = "POST /v1/sandbox/bind"
CONTENT = TemplateContent(image="image", memory_mb=512, pool=PoolSize(min=2, max=4), idle=IdlePolicy(pause_after_minutes=60))
WARM = Spec(template="work")
SECRETS = {"TOKEN": {"value": "a-value", "bindings": [{"hosts": ["api.example.com"]}]}}


@pytest.fixture
def gateway(answers: Answering) -> str:
    """Sandboxes that can be bound."""
    answers.answers[BIND] = (200, {"success": True, "data": {}})
    return answers.address


async def filled(fleet: Fleet, ready: int = 2) -> Pool:
    """The one pool, once so many are ready in it."""

    def look() -> Pool | None:
        return next((pool for pool in fleet.pools.pools.values() if pool.ready >= ready), None)

    found: Pool = await eventually(look, SECONDS)
    return found


async def test_one_that_waits_becomes_the_tenants_and_another_takes_its_place(
    fleet: Fleet, engine: MemoryBackend, answers: Answering
) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    waiting = set(engine.sandboxes)
    assert await fleet.page("one", 0, 100, None) == []
    made = await fleet.create("one", Spec(template="work", labels={"run": "7"}), name="mine")
    assert made.id in waiting
    ready = await fleet.settle(made.id, SECONDS)
    assert (ready.name, ready.tenant, ready.spec.labels, ready.spec.template) == ("mine", "one", {"run": "7"}, "work@1")
    assert ready.spec.idle == CONTENT.idle
    (bound,) = answers.called(BIND)
    assert bound.json == {"tenant": "one", "labels": {"name": "mine"}}
    await eventually(lambda: len(engine.sandboxes) == 3, SECONDS)
    assert [sandbox.id for _, sandbox in await fleet.page("one", 0, 100, None)] == [made.id]


async def test_what_waits_is_put_to_sleep_by_no_policy(fleet: Fleet) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    members = [sandbox for _, sandbox in await fleet.page("", 0, 100, None)]
    assert [member.spec.idle for member in members] == [None, None]


async def test_many_at_once_get_each_another(fleet: Fleet) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    made = await asyncio.gather(*(fleet.create("one", WARM) for _ in range(6)))
    assert len({one.id for one in made}) == 6
    for one in made:
        assert (await fleet.settle(one.id, SECONDS)).state == State.READY


async def test_the_same_request_made_again_claims_no_second_one(fleet: Fleet) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    both = await asyncio.gather(*(fleet.create("one", WARM, name="mine", key="k") for _ in range(2)))
    assert both[0].id == both[1].id
    with pytest.raises(ConflictError, match="called 'mine'"):
        await fleet.create("one", WARM, name="mine")


@pytest.mark.parametrize("asked", [{"memory_mb": 1024}, {"environment": {"A": "1"}}, {"image": "other"}, {"level": "plain"}])
async def test_what_needs_another_start_is_started_anew(fleet: Fleet, engine: MemoryBackend, asked: dict[str, Any]) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    waiting = set(engine.sandboxes)
    made = await fleet.create("one", Spec.model_validate({"template": "work"} | asked))
    assert made.id not in waiting
    assert (await fleet.settle(made.id, SECONDS)).state == State.READY


async def test_secrets_are_put_in_after_the_claim_and_before_it_is_ready(fleet: Fleet, answers: Answering) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    states: list[str] = []
    made: list[Sandbox] = []

    async def put(call: Call) -> tuple[int, Any]:
        states.append(f"{call.path} {(await fleet.get(made[0].id)).state}")
        return 200, {"success": True, "data": {}}

    answers.answers["PUT /v1/secrets/TOKEN"] = put
    secret = {"value": "a-value", "bindings": [{"hosts": ["api.example.com"]}]}
    made.append(await fleet.create("one", WARM, secrets={"TOKEN": secret}))
    await fleet.settle(made[0].id, SECONDS)
    assert states == ["/v1/secrets/TOKEN starting"]
    assert answers.called("PUT /v1/secrets/TOKEN")[0].json == secret


async def test_a_service_that_is_killed_after_a_claim_goes_on_with_it(
    make_fleet: MakeFleet, answers: Answering, engine: MemoryBackend
) -> None:
    reached = asyncio.Event()

    async def never(_: Call) -> tuple[int, Any]:
        reached.set()
        await asyncio.sleep(0)
        return 503, {"message": "killed"}

    async with make_fleet() as first:
        await first.templates.put("one", "work", CONTENT)
        await filled(first)
        answers.answers["PUT /v1/secrets/TOKEN"] = never
        made = await first.create("one", WARM, name="mine", key="k", secrets=SECRETS)
        async with asyncio.timeout(SECONDS):
            await reached.wait()
    answers.answers["PUT /v1/secrets/TOKEN"] = (200, {"success": True, "data": {}})
    async with make_fleet() as second:
        assert (await second.create("one", WARM, name="mine", key="k", secrets=SECRETS)).id == made.id
        assert (await second.find("one", "mine")).desired == Desired.RUNNING
        await eventually(lambda: second.get(made.id), SECONDS)

        async def is_ready() -> bool:
            return (await second.get(made.id)).state == State.READY

        await eventually(is_ready, SECONDS)
        await filled(second)
        members = {sandbox.id for _, sandbox in await second.page("", 0, 100, None)}
        assert made.id not in members
        assert set(engine.sandboxes) == members | {made.id}


async def test_another_version_empties_the_pool_of_the_one_before(fleet: Fleet, engine: MemoryBackend) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    before = set(engine.sandboxes)
    await fleet.templates.put("one", "work", CONTENT.model_copy(update={"memory_mb": 1024}))
    await eventually(lambda: len(engine.sandboxes) == 2 and not before & set(engine.sandboxes), SECONDS)
    assert {found.spec.memory_mb for found in engine.sandboxes.values()} == {1024}
    await fleet.templates.remove("one", "work")
    await eventually(lambda: not engine.sandboxes, SECONDS)


async def test_a_pool_that_cannot_be_filled_waits_and_says_so(fleet: Fleet, engine: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "STARTING", 1)
    engine.refuses.add("create")
    await fleet.templates.put("one", "work", CONTENT)

    def failing() -> Pool | None:
        return next((pool for pool in fleet.pools.pools.values() if pool.failures == 3), None)

    pool: Pool = await eventually(failing, SECONDS)
    assert "no create" in pool.reason
    (said,) = [finding for finding in await fleet.examine() if finding.name == "pools"]
    assert not said.holds
    begun = len(await fleet.page("", 0, 100, None))
    fleet.pools.renew()
    await fleet.create("one", Spec(image="image"), name="other")
    engine.refuses.clear()
    made = await fleet.create("one", WARM)  # is started anew
    assert (await fleet.settle(made.id, SECONDS)).state == State.READY
    assert len(await fleet.page("", 0, 100, None)) <= begun
    pool.retry_at = 0.0
    fleet.pools.renew()
    assert (await filled(fleet)).failures == 0


async def test_a_shared_pool_serves_every_tenant_and_shows_no_one_anothers(fleet: Fleet) -> None:
    await fleet.templates.put(SHARED, "work", CONTENT)
    pool = await filled(fleet)
    assert pool.key == key_of(SHARED, pool.template)
    assert pool.key.startswith("/work@1/")
    made = [await fleet.create(tenant, WARM) for tenant in ("one", "two")]
    for one in made:
        assert (await fleet.settle(one.id, SECONDS)).state == State.READY
    for tenant, one in zip(("one", "two"), made, strict=True):
        assert [sandbox.id for _, sandbox in await fleet.page(tenant, 0, 100, None)] == [one.id]


def test_the_size_follows_the_claims() -> None:
    size = PoolSize(min=1, max=10)
    assert target(size, 0, 10) == 1
    assert target(size, 0.2, 10) == 3
    assert target(size, 0.21, 10) == 4
    assert target(size, 100, 10) == 10
    assert target(PoolSize(min=0, max=1), 0, 10) == 0


async def test_after_a_drain_pools_are_filled_again(fleet: Fleet, engine: MemoryBackend) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    await fleet.drain.set(draining=True)
    await fleet.drain.stop(0)
    await eventually(lambda: not engine.sandboxes, SECONDS)
    await fleet.drain.set(draining=False)
    fleet.pools.renew()
    await filled(fleet)


async def test_a_template_that_is_removed_and_made_again_gives_nothing_of_before(fleet: Fleet, engine: MemoryBackend) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    await fleet.templates.remove("one", "work")
    await fleet.templates.put("one", "work", CONTENT.model_copy(update={"memory_mb": 1024}))
    await eventually(lambda: [one.spec.memory_mb for one in engine.sandboxes.values()] == [1024] * 2, SECONDS)


async def test_a_network_policy_of_the_request_is_the_containers(fleet: Fleet, engine: MemoryBackend) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    waiting = set(engine.sandboxes)
    made = await fleet.create("one", WARM, egress={"default": "deny"})
    assert made.id not in waiting
    assert "EGRESS_POLICY" in made.spec.environment


async def test_a_removed_tenants_pools_go(fleet: Fleet, engine: MemoryBackend) -> None:
    tenants = TenantStore(fleet.database)
    await tenants.create("one")
    await fleet.templates.put("one", "work", CONTENT)
    await filled(fleet)
    await tenants.delete("one")
    fleet.pools.renew()
    await eventually(lambda: not engine.sandboxes, SECONDS)
