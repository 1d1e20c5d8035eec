"""Who gets the value of a secret where there is no box: by rules in the container's network, and by the explicit proxy."""

import pytest

from sandbox_server.drivers.egress.default_policy import DEFAULT_POLICY
from tests.image.brokered import HOST, brokered_sandbox


@pytest.mark.parametrize("args", [[], ["--cap-add=NET_ADMIN"]], ids=["proxy", "rules"])
def test_programs_of_the_agent_s_user_get_it_and_pages_of_other_sites_do_not(args: list[str]) -> None:
    for brokered in brokered_sandbox(args, BOX="off", EGRESS_POLICY=DEFAULT_POLICY):
        brokered.run(f'curl -sS -m 20 -H "X-Key: $TOKEN" https://{HOST}/v1/program')
        assert brokered.field("X-Key") == brokered.token
        brokered.run(f'curl -sS -m 20 -H "Sec-Fetch-Site: cross-site" -H "X-Key: $TOKEN" https://{HOST}/v1/browser')
        assert brokered.field("X-Key") == brokered.placeholder
