"""What is done for a request before it is known who sends it."""

import pytest

from sandbox_server.features.auth import cookies, credentials, original
from tests.features.auth.conftest import KEY, Gate

pytestmark = pytest.mark.anyio

TICKET = "tk-" + "A" * 43


@pytest.mark.parametrize(
    "query",
    [
        f"ticket={TICKET}&ticket={TICKET}",
        "&".join(f"t%69cket={TICKET}" for _ in range(300)),
        f"api_key={KEY}&api_key=x",
        "&" * credentials.MAX_PARAMETERS,
    ],
)
async def test_more_than_one_credential_of_a_kind_or_too_many_parameters_are_a_400_whoever_asks(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(gate.tickets, "redeem", None)  # it would raise
    for more in ({}, {"x_aio_api_key": KEY}):
        refused = await gate.ask(f"/v1/x?{query}", **more)
        assert (refused.status, refused.headers.get("X-Sandbox-Malformed")) == (403, "malformed")


async def test_a_programs_own_parameters_of_these_names_are_left_alone(gate: Gate) -> None:
    assert (await gate.ask("/v1/x?ticket=1&ticket=2", x_aio_api_key=KEY)).status == 200
    assert (await gate.ask("/proxy/3000/?api_key=1&api_key=2", x_aio_api_key=KEY)).status == 200


async def test_each_parameter_is_decoded_once(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    decode = original._parameter

    def noted(text: str) -> tuple[str, str]:
        decoded.append(text)
        return decode(text)

    monkeypatch.setattr(original, "_parameter", noted)
    assert (await gate.ask("/v1/x?a=1&b=2", x_aio_api_key=KEY)).status == 200
    assert decoded == ["a=1", "b=2"]


def test_of_more_cookies_than_a_browser_keeps_the_rest_is_not_looked_at() -> None:
    header = "; ".join(f"{cookies.NAME}_{number}=x" for number in range(2 * cookies.MAX_SEALED))
    assert len(cookies.sealed_in(header)) == cookies.MAX_SEALED
