from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server import patterns
from sandbox_server.drivers.egress.url_normalization import TwoReadings, normal_glob, normal_path
from tests.tables import table_test


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/", "/"),
        ("/admin", "/admin"),
        ("/%61dmin", "/admin"),
        ("/%41%2d%7E", "/A-~"),
        ("/a%3ab%40c", "/a:b@c"),
        ("/a%2a", "/a*"),
        ("/a%20b", "/a%20b"),
        ("/a%c3%a9", "/a%C3%A9"),
        ("/a\xc3\xa9", "/a%C3%A9"),
        ('/a"<>^`{|}[]', "/a%22%3C%3E%5E%60%7B%7C%7D%5B%5D"),
        ("/a/...", "/a/..."),
        ("/a/", "/a/"),
    ],
)
def test_every_way_to_write_a_path_has_one_form(path: str, normal: str) -> None:
    assert normal_path(path) == normal
    assert normal_path(normal) == normal


@table_test(
    [
        "",
        "admin",
        "*",
        "//admin",
        "/a//admin",
        "/a//",
        "/./admin",
        "/a/../admin",
        "/a/..",
        "/.",
        "/a/%2e%2e/admin",
        "/a/.%2E/admin",
        "/a%2fadmin",
        "/a%5cadmin",
        "/a\\admin",
        "/a%00",
        "/a%0d%0a",
        "/a\tb",
        "/a;b",
        "/a%3Bb",
        "/%2561dmin",
        "/%zz",
        "/%u002e%u002e/",
        "/a%",
        "/a%2",
        "/a%3fb",
        "/a%23b",
        "/%c0%ae%c0%ae/admin",
        "/a\xe9",
        "/a%ff",
        "/\u4e2d",
    ]
)
def test_what_servers_read_in_different_ways_has_none(path: str) -> None:
    with pytest.raises(TwoReadings):
        normal_path(path)


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="/\\%;?#.", min_codepoint=0x20), min_size=1).map(
        lambda text: text.replace("\x7f", "x")
    )
)
def test_a_name_is_the_same_however_it_is_encoded(name: str) -> None:
    everything = "".join(f"%{byte:02x}" for byte in name.encode())
    assert normal_path(f"/{everything}") == normal_path(f"/{quote(name, safe='')}") == normal_path("/" + name.encode().decode("latin-1"))


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("/%61dmin", "/admin", True),
        ("/admin", "/%61dmin", True),
        ("/\u4e2d/*", "/%e4%b8%ad/x", True),
        ("/a%2a", "/a*", True),
        ("/a%2a", "/ab", False),
        ("/[ab]/**", "/a/x/y", True),
        ("/a b", "/a%20b", True),
    ],
)
def test_a_glob_and_a_path_are_compared_in_one_form(glob: str, path: str, matches: bool) -> None:
    assert bool(patterns.glob(normal_glob(glob), paths=True).fullmatch(normal_path(path))) is matches


@table_test(["/a%2fb", "/a%", "/%00", "/%25"])
def test_a_glob_that_no_path_can_match_is_none(glob: str) -> None:
    with pytest.raises(TwoReadings):
        normal_glob(glob)
