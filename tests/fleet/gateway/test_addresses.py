"""How a sandbox is addressed."""

import pytest
from tandem_fleet.gateway.addresses import Addresses, Target, is_ambiguous

ID = "abcdefghij234567"
NAMED = Addresses("https://boxes.test:8443", "boxes.test", named=True)


@pytest.mark.parametrize(
    ("host", "uri", "wanted"),
    [
        (f"{ID}.boxes.test", "/a?b", Target(ID, "/a?b", by_path=False)),
        (f"{ID.upper()}.Boxes.Test.:8443", "/", Target(ID, "/", by_path=False)),
        (f"3000-{ID}.boxes.test", "/", Target(ID, "/", by_path=False)),
        ("10.0.0.1", f"/s/{ID}/a?b", Target(ID, "/a?b", by_path=True)),
        ("[::1]:80", f"/s/{ID}", Target(ID, "/", by_path=True)),
        ("boxes", f"/s/{ID}?a=b", Target(ID, "/?a=b", by_path=True)),
        (f"{ID}.boxes.test", f"/s/{ID}/", Target(ID, f"/s/{ID}/", by_path=False)),
        (f"x.{ID}.boxes.test", "/", None),
        (f"0-{ID}.boxes.test", "/", None),
        (f"123456-{ID}.boxes.test", "/", None),
        ("boxes.test", "/", None),
        ("other", f"/S/{ID}/", None),
        ("other", f"/s/{ID[:-1]}/", None),
    ],
)
def test_a_host_names_a_sandbox_or_else_the_path_does(host: str, uri: str, wanted: Target | None) -> None:
    assert NAMED.target(host, uri) == wanted


@pytest.mark.parametrize("uri", ["/healthz", "//healthz?a", "/%68ealthz", "/static/x.js", "/.well-known/jwks.json", "/join"])
def test_what_a_sandbox_answers_to_everybody_is_known(uri: str) -> None:
    assert Target(ID, uri, by_path=False).is_open_to_all
    assert not Target(ID, f"/v1{uri}", by_path=False).is_open_to_all


def test_where_nobody_has_a_name_hosts_say_nothing() -> None:
    unnamed = Addresses("http://10.0.0.1:7780", "", named=False)
    assert unnamed.target(f"{ID}.boxes.test", "/") is None
    assert unnamed.page(Target(ID, "/view", by_path=True)) == ""
    assert (unnamed.url(ID), unnamed.environment(ID)) == (f"http://10.0.0.1:7780/s/{ID}", {})


def test_clients_are_given_a_name_where_they_can_look_it_up() -> None:
    local = Addresses("http://127.0.0.1:7780", "localhost", named=False)
    assert (NAMED.url(ID), local.url(ID)) == (f"https://{ID}.boxes.test:8443", f"http://127.0.0.1:7780/s/{ID}")
    assert local.page(Target(ID, "/view?a", by_path=True)) == f"http://{ID}.localhost:7780/view?a"
    assert (NAMED.is_encrypted, local.is_encrypted) == (True, False)
    assert NAMED.environment(ID) == {"PREVIEW_DOMAIN": f"{ID}.boxes.test"}


@pytest.mark.parametrize(
    "uri", ["/../a", "/a/..", "/a/%2E%2e/b", "/a/.", "/a\\b", "/a%5c..", "/a/..;x", "/a#b", "http://x/", "*", "", "/a b", "/a\x7f"]
)
def test_what_two_programs_could_read_as_two_places_is_ambiguous(uri: str) -> None:
    assert is_ambiguous(uri)


@pytest.mark.parametrize("uri", ["/", "/a..b/.c", "/a?b=../c#d", "/...", "/%2e%2e%2e/x", "/a%20b", "/?a=\\"])
def test_other_paths_are_clear(uri: str) -> None:
    assert not is_ambiguous(uri)
