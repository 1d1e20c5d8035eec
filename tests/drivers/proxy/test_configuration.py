"""What HAProxy does with the configurations that it is given: the real one, asked by curl."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from sandbox_server.drivers.proxy.configuration import ANSWERED, REFUSED, configuration
from sandbox_server.drivers.proxy.haproxy import Haproxy
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan
from sandbox_server.settings.proxy import PATTERNS, ROUTES
from sandbox_server.settings.proxy import upstream as read_upstream
from tests.drivers.proxy.conftest import free_port

pytestmark = pytest.mark.anyio

type Ask = Callable[..., str]
EXCLUDES = PATTERNS.parse(".corp.example *.inner.example 127.0.0.2 exact.example")
ROUTED = "myapp.com=:{site} api.myapp.com/v1/*=:{site}/sub/ *.staging.app=:{site} https://tls.app=:{site} http://p.app:8080/a.b=:{site}/c"


@pytest.fixture
async def ask(program: Any, upstream: int, site: int) -> Ask:
    """Ask a proxy with an upstream, exclusions and mappings for an address."""
    port = free_port()
    routes = ROUTES.parse(ROUTED.format(site=site))
    plan = ProxyPlan(read_upstream(f"us%40er:p:ss@word@127.0.0.1:{upstream}"), None, EXCLUDES, (), routes)
    await Haproxy(program.folder).apply(configuration(plan, port))
    return lambda *arguments: curl(port, *arguments)


def curl(port: int, *arguments: str) -> str:
    """Status and body, by way of a proxy."""
    command = ["curl", "-s", "-m", "20", "-x", f"http://127.0.0.1:{port}", "--noproxy", "", "-w", "\n%{http_code}", *arguments]
    body, _, status = subprocess.run(command, capture_output=True, text=True, check=False).stdout.rpartition("\n")
    return f"{status} {body}"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["http://far.example/a?b=1"], "200 upstream: http://far.example/a?b=1 for far.example"),
        (["-p", "http://far.example:81/a"], "200 through a tunnel to far.example:81: GET /a HTTP/1.1"),
        (["http://myapp.com/a?b=1"], "200 site: /a?b=1 for myapp.com"),
        (["http://MYAPP.com./a"], "200 site: /a for MYAPP.com."),
        (["http://myapp.com:77/a"], "200 site: /a for myapp.com:77"),
        (["-p", "http://myapp.com:80/a"], "200 site: /a for myapp.com"),
        (["http://api.myapp.com/v1/x?q=1"], "200 site: /sub/x?q=1 for api.myapp.com"),
        (["http://api.myapp.com/other"], "200 upstream: http://api.myapp.com/other for api.myapp.com"),
        (["-p", "http://api.myapp.com:80/v1/x"], "200 site: /sub/x for api.myapp.com"),
        (["-p", "http://api.myapp.com:80/other"], "404 No mapping has this address."),
        (["http://b.a.staging.app/"], "200 site: / for b.a.staging.app"),
        (["http://tls.app/"], "200 upstream: http://tls.app/ for tls.app"),
        (["-p", "http://tls.app:443/x"], "200 site: /x for tls.app:443"),
        (["http://p.app:8080/a.b?q"], "200 site: /c?q for p.app:8080"),
        (["http://p.app:8080/axb"], "200 upstream: http://p.app:8080/axb for p.app:8080"),
        (["http://p.app/a.b"], "200 upstream: http://p.app/a.b for p.app"),
        ([ANSWERED], "200 You are going through the proxy."),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
async def test_a_request_goes_where_the_plan_says(ask: Ask, arguments: list[str], answer: str) -> None:
    assert ask(*arguments) == answer


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
@pytest.mark.parametrize("tunnel", [(), ("-p",)])
async def test_what_is_excluded_or_only_here_is_connected_to_directly(ask: Ask, site: int, host: str, tunnel: tuple[str, ...]) -> None:
    answer = ask("--proxy-header", "Proxy-Authorization: Basic YTpi", *tunnel, f"http://{host}:{site}/x")

    assert answer.startswith("200 site: /x") or (host == "127.0.0.2" and not answer.startswith("200 upstream"))


@pytest.mark.parametrize("host", ["corp.example", "a.corp.example", "a.inner.example", "exact.example"])
async def test_an_excluded_name_never_reaches_the_upstream(ask: Ask, host: str) -> None:
    assert "upstream" not in ask(f"http://{host}/")


async def test_a_request_that_is_for_no_proxy_goes_nowhere(program: Any) -> None:
    port = free_port()
    await Haproxy(program.folder).apply(configuration(ProxyPlan(), port))

    assert curl(port, "--noproxy", "*", f"http://127.0.0.1:{port}/x") == "400 This is a proxy."


async def test_the_credentials_are_added_for_everybody_and_nobody_is_asked(program: Any, upstream: int) -> None:
    port = free_port()
    for password in ("wrong", ""):
        plan = ProxyPlan(read_upstream(f"us%40er:{password}@127.0.0.1:{upstream}"))
        await Haproxy(program.folder).apply(configuration(plan, port))
        assert curl(port, "http://far.example/") == f"502 {REFUSED}"
        assert curl(port, "-p", "http://far.example/").startswith("000")
        assert curl(port, "-D", "-", "http://far.example/").count("407") == 0


async def test_a_token_of_several_thousand_letters_fits(program: Any, upstream: int) -> None:
    port = free_port()
    plan = ProxyPlan(read_upstream(f"us%40er:{'t' * 6000}@127.0.0.1:{upstream}"))
    await Haproxy(program.folder).apply(configuration(plan, port))

    assert curl(port, "http://far.example/") == f"502 {REFUSED}"


async def test_only_what_is_included_goes_to_the_upstream(program: Any, upstream: int, site: int) -> None:
    port = free_port()
    plan = ProxyPlan(read_upstream(f"us%40er:p:ss@word@127.0.0.1:{upstream}"), includes=("*.far.example",))
    await Haproxy(program.folder).apply(configuration(plan, port))

    assert curl(port, "http://a.far.example/").startswith("200 upstream")
    assert "upstream" not in curl(port, "http://near.example/")
