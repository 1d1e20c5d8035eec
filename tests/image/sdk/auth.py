from tests.image.sdk.calls import Calls, drives


@drives("auth.create_ticket", "auth.authenticate")
async def tickets(calls: Calls) -> None:
    ticket = await calls("auth.create_ticket")

    assert ticket["expires_in"] > 0
    assert ticket["ticket"] != (await calls("auth.create_ticket"))["ticket"]
    assert "caller" in await calls("auth.authenticate")
