"""What sandboxes are made of, under a name."""

import asyncio
import json

import pytest
from pydantic import ValidationError
from tandem_fleet.errors import InvalidError, NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.idle_policy import IdlePolicy
from tandem_fleet.sandboxes import Spec
from tandem_fleet.store.templates import SHARED
from tandem_fleet.templates import EGRESS_BYTES, PoolSize, TemplateContent

pytestmark = pytest.mark.anyio
CONTENT = TemplateContent(
    image="image", memory_mb=512, environment={"A": "1", "B": "2"}, labels={"team": "x"}, idle=IdlePolicy(pause_after_minutes=5)
)


async def test_the_same_content_is_the_same_version_and_another_is_the_next(fleet: Fleet) -> None:
    first = await fleet.templates.put("default", "work", CONTENT)
    assert (await fleet.templates.put("default", "work", CONTENT)).version == first.version == 1
    assert (await fleet.templates.put("default", "work", CONTENT.model_copy(update={"memory_mb": 1024}))).version == 2
    assert (await fleet.templates.find("default", "work@1")).content.memory_mb == 512
    assert (await fleet.templates.find("default", "work")).content.memory_mb == 1024


async def test_what_is_asked_for_goes_before_what_the_template_says(fleet: Fleet) -> None:
    await fleet.templates.put("default", "work", CONTENT)
    made = await fleet.create("default", Spec(template="work", cpus=2, environment={"B": "3"}, labels={"run": "7"}))
    assert (made.spec.memory_mb, made.spec.cpus, made.spec.image) == (512, 2, "image")
    assert made.spec.environment == {"A": "1", "B": "3"}
    assert made.spec.labels == {"team": "x", "run": "7"}
    assert made.spec.template == "work@1"
    assert made.spec.idle == IdlePolicy(pause_after_minutes=5)


async def test_a_request_made_again_gives_the_same_sandbox_though_the_template_changed(fleet: Fleet) -> None:
    await fleet.templates.put("default", "work", CONTENT)
    first = await fleet.create("default", Spec(template="work"), key="k")
    await fleet.templates.put("default", "work", CONTENT.model_copy(update={"memory_mb": 1024}))
    assert (await fleet.create("default", Spec(template="work"), key="k")).id == first.id


async def test_the_network_policy_is_the_sandboxs_from_its_start(fleet: Fleet) -> None:
    await fleet.templates.put("default", "work", TemplateContent(image="image", egress={"default": "deny"}))
    made = await fleet.create("default", Spec(template="work"))
    assert json.loads(made.spec.environment["EGRESS_POLICY"]) == {"default": "deny"}


async def test_a_tenants_template_is_seen_by_no_other_and_goes_before_a_shared_one(fleet: Fleet) -> None:
    await fleet.templates.put("one", "work", CONTENT)
    with pytest.raises(NotFoundError, match="no template 'work'"):
        await fleet.create("two", Spec(template="work"))
    with pytest.raises(NotFoundError):
        await fleet.templates.remove("two", "work")
    await fleet.templates.put(SHARED, "work", TemplateContent(image="shared"))
    assert (await fleet.create("two", Spec(template="work"))).spec.image == "shared"
    assert (await fleet.create("one", Spec(template="work"))).spec.image == "image"
    assert [template.content.image for _, template in await fleet.templates.page("two", 0, 10)] == ["shared"]


async def test_one_that_was_removed_is_not_found_and_its_sandboxes_stay(fleet: Fleet) -> None:
    await fleet.templates.put("default", "work", CONTENT)
    made = await fleet.create("default", Spec(template="work"))
    await fleet.templates.remove("default", "work")
    with pytest.raises(NotFoundError):
        await fleet.templates.find("default", "work")
    assert (await fleet.find("default", made.id)).spec.memory_mb == 512


async def test_at_the_same_time_each_content_is_one_version(fleet: Fleet) -> None:
    contents = [CONTENT.model_copy(update={"memory_mb": 512 + number}) for number in range(10)]
    made = await asyncio.gather(*(fleet.templates.put("default", "work", content) for content in contents * 2))
    versions = {(one.version, one.content.memory_mb) for one in made}
    assert {memory for _, memory in versions} == set(range(512, 522))
    for version, memory in versions:
        assert (await fleet.templates.find("default", f"work@{version}")).content.memory_mb == memory


@pytest.mark.parametrize("reference", ["work@", "work@0", "work@x", "work@1@2", "work@99999999999"])
async def test_a_version_is_a_number(fleet: Fleet, reference: str) -> None:
    await fleet.templates.put("default", "work", CONTENT)
    with pytest.raises(InvalidError, match="names no version"):
        await fleet.create("default", Spec(template=reference))


async def test_what_a_sandbox_may_not_say_a_template_may_not_either(fleet: Fleet) -> None:
    for content in (TemplateContent(environment={"AUTH": "off"}), TemplateContent(labels={"tandem.id": "x"})):
        with pytest.raises(InvalidError):
            await fleet.templates.put("default", "work", content)
    with pytest.raises(InvalidError, match="network policy"):
        await fleet.templates.put("default", "work", TemplateContent(egress={"rules": ["x" * EGRESS_BYTES]}))
    with pytest.raises(InvalidError, match="name"):
        await fleet.templates.put("default", "A", CONTENT)
    crowded = TemplateContent(image="image", environment={f"A{number}": "" for number in range(200)})
    await fleet.templates.put("default", "crowded", crowded)
    with pytest.raises(InvalidError, match="do not fit together"):
        await fleet.create("default", Spec(template="crowded", environment={f"B{number}": "" for number in range(200)}))


@pytest.mark.parametrize(
    "content",
    [
        {"template": "other"},
        {"egress": {}, "environment": {"EGRESS_POLICY": "{}"}},
        {"pool": {"min": 2, "max": 1}},
        {"idle": {"pause_after_minutes": 0}},
        {"idle": {"pause_after_minutes": float("nan")}},
    ],
)
def test_a_content_that_means_nothing_is_refused(content: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TemplateContent.model_validate(content)
    assert PoolSize(min=1, max=2).max == 2
