"""How sandboxes are made."""

import json

import pytest
from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.fleet import Fleet
from tandem_fleet.templates import EGRESS_BYTES

from tests.fleet.test_fleet import SPEC

pytestmark = pytest.mark.anyio


async def test_one_without_a_name_is_made_once_by_the_same_key(fleet: Fleet) -> None:
    both = [await fleet.create("default", SPEC, key="k") for _ in range(2)]
    assert both[0].id == both[1].id == both[0].name
    with pytest.raises(ConflictError):
        await fleet.create("default", SPEC, key="k", egress={"default": "deny"})


async def test_a_new_one_has_its_network_policy_from_its_start(fleet: Fleet) -> None:
    made = await fleet.create("default", SPEC, egress={"default": "deny"})
    assert json.loads(made.spec.environment["EGRESS_POLICY"]) == {"default": "deny"}
    with pytest.raises(InvalidError, match="network policy"):
        await fleet.create("default", SPEC, egress={"rules": ["x" * EGRESS_BYTES]})
