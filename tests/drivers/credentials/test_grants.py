"""Grants and their seal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.credentials.grants import Grant, Seal, is_prefix

GRANT = Grant("key#1a2b3c", frozenset({"view", "shell"}), "/vnc", 1000.0)


def test_a_sealed_grant_opens_to_itself() -> None:
    seal = Seal(b"k")
    assert seal.open(seal.seal(GRANT), now=999.0) == GRANT


def test_a_seal_of_another_key_does_not_open() -> None:
    assert Seal(b"k").open(Seal(b"other").seal(GRANT), now=0.0) is None


def test_a_grant_is_void_from_the_second_it_expires() -> None:
    seal = Seal(b"k")
    assert seal.open(seal.seal(GRANT), now=1000.0) is None


def test_no_changed_byte_of_a_seal_is_accepted() -> None:
    seal = Seal(b"k")
    sealed = seal.seal(GRANT)
    for i in range(len(sealed)):
        changed = sealed[:i] + ("A" if sealed[i] != "A" else "B") + sealed[i + 1 :]
        assert seal.open(changed, now=0.0) is None, i


@given(st.text())
def test_no_text_makes_a_seal_raise(text: str) -> None:
    assert Seal(b"k").open(text, now=0.0) is None


@pytest.mark.parametrize(
    ("prefix", "path", "covered"),
    [
        ("/", "/v1/shell/exec", True),
        ("/vnc", "/vnc", True),
        ("/vnc", "/vnc/app.js", True),
        ("/vnc", "/vncx", False),
        ("/vnc/", "/vnc/app.js", True),
        ("/vnc/", "/vnc", False),
        ("/proxy/3000", "/proxy/30001/", False),
    ],
)
def test_a_prefix_ends_at_a_segments_border(prefix: str, path: str, *, covered: bool) -> None:
    assert Grant("key", frozenset(), prefix).covers(path) is covered


@pytest.mark.parametrize("text", ["", "vnc", "//vnc", "/a/../b", "/a/./b", "/a;b", "/a b", "/a\r\nSet-Cookie: x", "/ä", "/a//b"])
def test_what_no_cookie_could_hold_is_no_prefix(text: str) -> None:
    assert not is_prefix(text)


@pytest.mark.parametrize("text", ["/", "/vnc", "/vnc/", "/proxy/3000/a%20b"])
def test_an_absolute_normalised_path_is_a_prefix(text: str) -> None:
    assert is_prefix(text)
