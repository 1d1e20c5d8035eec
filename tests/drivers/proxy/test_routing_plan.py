import json

import pytest

from sandbox_server.drivers.proxy.routing_plan import ProxyPlan, configured, covers, ordered, restored, stored
from sandbox_server.settings import load
from sandbox_server.settings.proxy import PATTERNS, ROUTES, upstream

UPSTREAM = upstream("user:secret@proxy.example:3128")


@pytest.mark.parametrize(
    ("patterns", "covered", "other"),
    [
        ("a.example", ["a.example", "A.example."], ["b.a.example", "xa.example"]),
        (".a.example", ["a.example", "c.b.a.example"], ["xa.example"]),
        ("*.a.example", ["b.a.example", "c.b.a.example"], ["a.example", "b.a.example.org"]),
        ("a*.example", ["a.example", "abc.example"], ["b.example"]),
        ("10.0.0.0/8", ["10.1.2.3"], ["11.0.0.1", "10.example", "ten"]),
        ("fd00::/8", ["fd00::1", "[fd00::1]"], ["fe80::1", "10.0.0.1"]),
    ],
)
def test_a_host_is_compared_with_patterns(patterns: str, covered: list[str], other: list[str]) -> None:
    read = PATTERNS.parse(patterns)

    assert [host for host in covered if not covers(read, host)] == []
    assert [host for host in other if covers(read, host)] == []


def test_everything_goes_to_the_upstream_but_what_is_excluded_or_only_here() -> None:
    plan = ProxyPlan(UPSTREAM, excludes=(".corp", "10.0.0.0/8"))

    assert plan.to_upstream("example.com")
    assert not any(map(plan.to_upstream, ("wiki.corp", "10.1.2.3", "localhost", "x.localhost", "127.0.0.1", "::1", "169.254.169.254")))
    assert not ProxyPlan().to_upstream("example.com")


def test_where_hosts_are_included_only_they_go_to_the_upstream() -> None:
    plan = ProxyPlan(UPSTREAM, includes=("*.far",), excludes=("not.far",))

    assert [host for host in ("a.far", "not.far", "near") if plan.to_upstream(host)] == ["a.far"]


def test_the_most_particular_mapping_counts() -> None:
    routes = ROUTES.parse("*=:1 *.example=:2 a.example=:3 a.example/v1/=:4 a.example:81=:5 https://a.example=:6 http://b.example=:7")
    plan = ProxyPlan(routes=routes)
    asked = {
        ("http", "a.example", 80, "/"): 3,
        ("http", "a.example", 80, "/v1/x"): 4,
        ("http", "a.example", 81, "/"): 5,
        ("http", "c.example", 80, "/"): 2,
        ("http", "other", 80, "/"): 1,
        ("http", "b.example", 80, "/"): 7,
        ("https", "b.example", 443, "/"): 2,
    }

    assert {address: found.target_port for address in asked if (found := plan.mapped(*address))} == asked
    assert [each.target_port for each in ordered(routes)][-1] == 1


def test_a_mapping_takes_only_its_own() -> None:
    plan = ProxyPlan(routes=ROUTES.parse("http://a.example:81/v1/=:1"))

    assert plan.mapped("http", "a.example", 81, "/v1/x")
    for address in (("http", "a.example", 80, "/v1/"), ("http", "a.example", 81, "/"), ("https", "a.example", 81, "/v1/")):
        assert plan.mapped(*address) is None


def test_a_plan_is_kept_and_read_again() -> None:
    plan = ProxyPlan(UPSTREAM, None, ("a",), ("b",), ROUTES.parse("a/v1/=:1/x"))
    again = restored(json.loads(json.dumps(stored(plan))))

    assert stored(again) == stored(plan)
    assert again.upstream
    assert again.upstream.password
    assert again.upstream.password.reveal() == "secret"


def test_credentials_that_a_command_writes_are_not_kept() -> None:
    kept = stored(ProxyPlan(UPSTREAM, "echo user:secret-of-the-hour"))

    assert (kept["upstream"]["username"], kept["upstream"]["password"]) == (None, None)
    assert restored(kept).auth_command == "echo user:secret-of-the-hour"


def test_the_settings_make_the_first_plan() -> None:
    settings = load({"PROXY_SERVER": "h:1", "PROXY_EXCLUDE": "a", "PROXY_BYPASS_LIST": "b;a", "PROXY_INCLUDE": "c", "PROXY_MAP": "d=:4"})
    plan = configured(settings.proxy)

    assert (plan.excludes, plan.includes, plan.routes[0].target, plan.in_use) == (("a", "b"), ("c",), "127.0.0.1:4", True)
    assert not configured(load({"PROXY_EXCLUDE": "a"}).proxy).in_use
