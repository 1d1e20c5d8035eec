from tests.image.sdk.calls import Calls, drives


@drives(
    *("proxy.get_upstream", "proxy.set_upstream", "proxy.remove_upstream", "proxy.list_mappings", "proxy.add_mapping"),
    *("proxy.remove_mapping", "proxy.list_excludes", "proxy.add_exclude", "proxy.remove_exclude", "proxy.diagnose"),
)
async def proxy(calls: Calls) -> None:
    upstream = (await calls("proxy.set_upstream", server="user:s3cret@127.0.0.1:9")).data
    mapping = (await calls("proxy.add_mapping", source="my.app/v1/*", target=":8080/v1/")).data
    await calls("proxy.add_exclude", pattern=".corp.example")
    shown, mappings = (await calls("proxy.get_upstream")).data, (await calls("proxy.list_mappings")).data
    excludes = (await calls("proxy.list_excludes")).data
    mapped = (await calls("proxy.diagnose", url="http://my.app/v1/sandbox")).data
    far = (await calls("proxy.diagnose", url="http://far.example/")).data
    near = (await calls("proxy.diagnose", url="http://a.corp.example/")).data
    await calls("proxy.remove_mapping", source="my.app/v1/*")
    await calls("proxy.remove_exclude", pattern=".corp.example")
    await calls("proxy.remove_upstream")

    assert (upstream.addr, upstream.username, upstream.password, shown) == ("127.0.0.1:9", "user", None, upstream)
    assert (mapping.source_host, mapping.target, mappings, excludes) == ("my.app", "127.0.0.1:8080/v1/", [mapping], [".corp.example"])
    assert (mapped.route, mapped.matched_mapping, mapped.target_reachable) == ("mapping", mapping, True)
    assert (far.route, far.target_reachable, near.route) == ("upstream", False, "direct")
    assert ((await calls("proxy.get_upstream")).data, (await calls("proxy.list_mappings")).data) == (None, [])
