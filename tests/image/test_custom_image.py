"""The worked example of an image of one's own: what it adds is there, and behind the same sign-in. `scripts/build example` builds it."""

import json
import os
from collections.abc import Iterator, Mapping

import pytest

from tests.image.container import Launcher, Sandbox, engine
from tests.patience import until


@pytest.fixture(scope="module")
def custom() -> Iterator[Sandbox]:
    """A container of the example's image."""
    image, run = f"{os.environ['TANDEM_IMAGE']}:example", os.environ["TANDEM_RUN"]
    if engine("image", "inspect", image).code != 0:
        pytest.fail(f"there is no image {image}: run scripts/build example")
    launcher = Launcher(image, run, "custom")
    try:
        yield launcher.start()
    finally:
        launcher.remove()


def test_its_packages_are_the_agents(custom: Sandbox) -> None:
    assert custom.run("sqlite3", ":memory:", "SELECT 6 * 7").stdout == "42\n"
    assert custom.run("python3", "-c", "import tabulate; print(tabulate.__version__)").stdout == "0.10.0\n"
    assert custom.run("semver", "-i", "minor", "1.4.2").stdout == "1.5.0\n"


def test_its_operation_is_called_in_every_way(custom: Sandbox) -> None:
    body = {"version": "1.4.2", "change": "minor"}
    assert custom.request("POST", "/v1/release/next", json=body).json()["data"] == {"version": "1.5.0"}
    assert custom.request("POST", "/v1/release/next", json={"version": "one"}).status_code == 400
    assert json.loads(custom.run("sandbox", "release", "next_version", "--version", "1.4.2").stdout) == {"version": "1.4.3"}
    assert called(custom, "release_next", body) == {"version": "1.5.0"}


def test_its_service_answers_on_its_route_behind_the_sign_in(custom: Sandbox) -> None:
    until(lambda: custom.request("GET", "/visits/").status_code == 200, told=custom.logs)
    first, second = (custom.request("GET", "/visits/").json() for _ in range(2))

    assert (first["caller"], second["visits"] - first["visits"]) == ("key", 1)
    assert custom.http.get(f"{custom.base_url}/visits/").status_code == 401


def test_its_mcp_server_stands_behind_the_hub(custom: Sandbox) -> None:
    assert called(custom, "notes_add", {"note": "buy milk"}) == {"result": 1}
    assert called(custom, "notes_read", {}) == {"result": ["buy milk"]}


@pytest.mark.slow
def test_the_check_of_the_build_finds_what_was_added_and_what_is_wrong_with_it(custom: Sandbox) -> None:
    good = custom.exec("sandbox", "plugins", "check")
    assert good.code == 0, good.stdout
    for added in ("POST /v1/release/next", "visits", "/opt/gem/nginx/visits.conf", "notes"):
        assert added in good.stdout

    broken = custom.exec(
        "sh",
        "-c",
        "echo 'location / { }' >/opt/gem/nginx/broken.conf; sandbox plugins check; code=$?; rm /opt/gem/nginx/broken.conf; exit $code",
    )
    assert broken.code == 1
    assert "duplicate location" in broken.stdout


def called(custom: Sandbox, tool: str, arguments: Mapping[str, object]) -> object:
    """What a tool gave, by MCP."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return custom.request("POST", "/mcp", json=body).json()["result"]["structuredContent"]
