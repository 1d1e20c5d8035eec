"""The file is run as a browser runs it."""

import json
import subprocess

import pytest

from sandbox_server.drivers.proxy.pac import pac
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan
from sandbox_server.settings.proxy import PATTERNS, ROUTES, upstream

NODE = "/opt/node/22/bin/node"
IS_IN_NET = """
const number = (text) => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const isInNet = (host, network, mask) => ((number(host) & number(mask)) >>> 0) === number(network);
"""
PROXY = "PROXY 127.0.0.1:8118"
UPSTREAM = upstream("user:secret@proxy.example:3128")


def routes_of(plan: ProxyPlan, *hosts: str) -> list[str]:
    ask = f"console.log(JSON.stringify({json.dumps(hosts)}.map((host) => FindProxyForURL(`http://${{host}}/`, host))))"
    done = subprocess.run([NODE, "-e", pac(plan, "127.0.0.1:8118") + IS_IN_NET + ask], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_without_a_proxy_everything_is_direct() -> None:
    assert routes_of(ProxyPlan(excludes=("a",)), "a.example", "localhost") == ["DIRECT", "DIRECT"]


def test_with_an_upstream_everything_goes_there_but_what_is_excluded() -> None:
    plan = ProxyPlan(UPSTREAM, excludes=PATTERNS.parse(".corp 10.0.0.0/8 x*.example"))
    direct = ["wiki.corp", "corp", "10.1.2.3", "xyz.example", "localhost", "127.0.0.1", "169.254.169.254", "WIKI.corp."]

    assert routes_of(plan, *direct) == ["DIRECT"] * len(direct)
    assert routes_of(plan, "a.example", "11.0.0.1", "corp.example") == [PROXY] * 3


def test_where_hosts_are_included_only_they_go_there() -> None:
    assert routes_of(ProxyPlan(UPSTREAM, includes=("*.far", "10.0.0.0/8")), "a.far", "10.1.1.1", "near") == [PROXY, PROXY, "DIRECT"]


def test_a_mapped_host_goes_to_the_proxy_without_an_upstream() -> None:
    assert routes_of(ProxyPlan(routes=ROUTES.parse("*.my.app=:1 one.app/v1/=:2")), "a.my.app", "one.app", "my.app") == [
        PROXY,
        PROXY,
        "DIRECT",
    ]


@pytest.mark.parametrize("plan", [ProxyPlan(UPSTREAM), ProxyPlan(UPSTREAM, "echo user:secret")])
def test_no_credentials_are_in_it(plan: ProxyPlan) -> None:
    assert "secret" not in pac(plan, "127.0.0.1:8118")
    assert "proxy.example" not in pac(plan, "127.0.0.1:8118")
