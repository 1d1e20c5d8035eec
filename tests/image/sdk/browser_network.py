from tests.image.sdk.calls import Calls, a_path, drives


@drives("browser_network.set_headers", "browser_network.set_scoped_headers")
async def headers(calls: Calls) -> None:
    assert (await calls("browser_network.set_headers", headers={"X-Sdk": "1"})).success
    assert (await calls("browser_network.set_headers", headers={})).success
    assert (await calls("browser_network.set_scoped_headers", origin="https://sdk.example", headers={"X-Sdk": "1"})).success
    assert (await calls("browser_network.set_scoped_headers", origin="https://sdk.example", headers={})).success
    assert (await calls.fails("browser_network.set_headers", headers={"Host": "x"})).status_code == 422


@drives("browser_network.add_route", "browser_network.remove_route")
async def routes(calls: Calls) -> None:
    assert (await calls("browser_network.add_route", url_pattern="https://sdk.example/**", response={"body": "made up"})).success
    assert (await calls("browser_network.add_route", url_pattern="https://sdk.example/**", abort=True)).success
    assert (await calls("browser_network.remove_route", url_pattern="https://sdk.example/**")).success
    assert (await calls.fails("browser_network.remove_route", url_pattern="https://sdk.example/**")).status_code == 404


@drives("browser_network.get_requests", "browser_network.export_har")
async def log(calls: Calls) -> None:
    archive = a_path("log.har")
    requests = (await calls("browser_network.get_requests", filter="nowhere.example", limit=5)).data
    exported = await calls("browser_network.export_har", save_path=archive)

    assert requests == []
    assert exported.success
    assert '"version": "1.2"' in (await calls("file.read_file", file=archive)).data.content
