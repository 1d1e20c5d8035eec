import pytest

from sandbox_server.settings import BadSettings, agent_environ, load, without_secrets
from sandbox_server.settings.proxy import PATTERNS, ROUTES, UpstreamSettings, pattern, route, upstream
from tests.tables import table_test


def credentials(found: UpstreamSettings) -> tuple[str | None, str | None]:
    return found.username, found.password.reveal() if found.password else None


@pytest.mark.parametrize(
    ("text", "address", "tls", "expected"),
    [
        ("proxy.example:3128", "proxy.example:3128", False, (None, None)),
        ("http://proxy.example:3128", "proxy.example:3128", False, (None, None)),
        ("https://proxy.example:443/", "proxy.example:443", True, (None, None)),
        ("user:pass@proxy.example:8080", "proxy.example:8080", False, ("user", "pass")),
        ("http://user:p@ss:w@rd@10.1.2.3:1", "10.1.2.3:1", False, ("user", "p@ss:w@rd")),
        ("us%40er:p%3Ass@h:1", "h:1", False, ("us@er", "p:ss")),
        ("token@h:1", "h:1", False, ("token", None)),
        ("user:@h:1", "h:1", False, ("user", "")),
        ("[fd00::1]:3128", "[fd00::1]:3128", False, (None, None)),
        (f"u:{'t' * 8000}@docker_host.internal:1", "docker_host.internal:1", False, ("u", "t" * 8000)),
    ],
)
def test_an_upstream_is_read(text: str, address: str, tls: bool, expected: tuple[str | None, str | None]) -> None:
    found = upstream(text)

    assert (found.address, found.tls, credentials(found)) == (address, tls, expected)


@table_test(
    [
        "",
        "proxy",
        "proxy:",
        "proxy:0",
        "proxy:70000",
        "socks5://h:1",
        "ftp://h:1",
        "h:1/path",
        "h h:1",
        'h":1',
        "-h:1",
        "u:secret@",
        "h:1\nx",
    ]
)
def test_what_is_no_upstream_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="must be") as refused:
        upstream(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("myapp.com", ":3000", (None, "myapp.com", None, "/", "127.0.0.1:3000")),
        ("MyApp.com", "3000", (None, "myapp.com", None, "/", "127.0.0.1:3000")),
        ("http://api.myapp.com:81/v1/*", "192.168.1.5:8081/x/", ("http", "api.myapp.com", 81, "/v1/", "192.168.1.5:8081/x/")),
        ("*.staging.app.com", "http://dev:80/", (None, "*.staging.app.com", None, "/", "dev:80/")),
        ("*", ":1", (None, "*", None, "/", "127.0.0.1:1")),
    ],
)
def test_a_mapping_is_read(source: str, target: str, expected: tuple[object, ...]) -> None:
    found = route(source, target)

    assert (found.scheme, found.host, found.port, found.path, found.target) == expected
    assert found.source == source


@table_test(
    [
        *(
            (source, ":1")
            for source in ("", "a b", "a/b c", 'a"', "a/%s", "a/(x)", "ftp://a", "a:0", "...", "a\nb", "a/$x", "a/#", "a/x,y")
        ),
        *(("a", target) for target in ("", "x", ":", "a:", ":0", ":70000", "a b:1", ":1/%[x]", "1:2:3", "https://a:1")),
    ]
)
def test_what_would_mean_something_else_in_a_configuration_is_no_mapping(source: str, target: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        route(source, target)


def test_patterns_are_names_addresses_and_networks() -> None:
    found = PATTERNS.parse("*.A.example, .b.example;c.example 10.1.2.3/8 fd00::/8 [::1] 10.0.0.0/8")

    assert found == ("*.a.example", ".b.example", "c.example", "10.0.0.0/8", "fd00::/8", "::1")


@pytest.mark.parametrize("text", ["a b", "a/b", "http://a", "a:1", "-m x", "...", "", "a\nb", "x{2}"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        pattern(text)


@pytest.mark.parametrize("text", ["a=:1, b/x=c:2/y", '{"a": ":1", "b/x": "c:2/y"}', "a=:1\nb/x=c:2/y"])
def test_mappings_are_given_as_pairs_or_as_json(text: str) -> None:
    assert [(each.source, each.target) for each in ROUTES.parse(text)] == [("a", "127.0.0.1:1"), ("b/x", "c:2/y")]


def test_a_bad_upstream_stops_the_boot_and_is_not_shown() -> None:
    with pytest.raises(BadSettings, match="PROXY_SERVER must be") as refused:
        load({"PROXY_SERVER": "user:secret@nowhere"})
    assert "secret" not in str(refused.value)


def test_the_agent_is_pointed_at_the_proxy_and_sees_no_credentials() -> None:
    environ = {"PROXY_SERVER": "user:hunter2@h:1", "PROXY_AUTH_CMD": "echo hunter2", "TINYPROXY_PORT": "8200"}
    found = agent_environ(environ, load(environ))

    assert "hunter2" not in str(found)
    assert found["http_proxy"] == found["HTTPS_PROXY"] == "http://127.0.0.1:8200"
    assert "127.0.0.1" in found["no_proxy"]
    assert "hunter2" not in str(without_secrets(environ))
    assert "hunter2" not in repr(load(environ))


def test_without_a_proxy_the_agent_is_pointed_nowhere() -> None:
    environ = {"PROXY_EXCLUDE": "a.example"}

    assert "http_proxy" not in agent_environ(environ, load(environ))
