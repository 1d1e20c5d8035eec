"""No text that is taken from a caller breaks the configuration, or slips a directive into it."""

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sandbox_server.drivers.proxy.configuration import configuration
from sandbox_server.drivers.proxy.routing_plan import ProxyPlan
from sandbox_server.settings import proxy
from sandbox_server.settings.kinds import Secret
from sandbox_server.settings.proxy import pattern, route, upstream


def valid(text: str, check: Callable[[str], object]) -> bool:
    try:
        check(text)
    except ValueError:
        return False
    return True


HOSTS = st.from_regex(proxy._PATTERN, fullmatch=True).filter(lambda text: valid(text, pattern))
SOURCES = st.from_regex(proxy._SOURCE, fullmatch=True).filter(lambda text: valid(text, lambda source: route(source, ":1")))
TARGETS = st.from_regex(proxy._TARGET, fullmatch=True).filter(lambda text: valid(text, lambda target: route("a", target)))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@example(["-", "-i", "-f.example", ".-m"], [], "", "")
@given(st.lists(HOSTS, max_size=3), st.lists(st.tuples(SOURCES, TARGETS), max_size=3), st.text(max_size=20), st.text(max_size=20))
def test_haproxy_understands_whatever_is_taken_for_a_plan(
    hosts: list[str], pairs: list[tuple[str, str]], username: str, password: str
) -> None:
    routes = tuple(route(source, target) for source, target in pairs)
    found = replace(upstream("127.0.0.1:1"), username=username, password=Secret(password))
    text = configuration(ProxyPlan(found, None, tuple(pattern(host) for host in hosts), (), routes), 8118)

    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(["haproxy", "-c", "-q", "-f", file.name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), text
