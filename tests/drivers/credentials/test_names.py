"""Callers' names, which no two kinds of credential share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.drivers.credentials.names import (
    MAX_NAME_CHARS,
    OURS,
    agent_of,
    bearer_of,
    guest_of,
    invited_by,
    is_agents,
    is_guest,
    is_owner,
    name_of,
)

SUBJECTS = st.one_of(
    st.text(min_size=1),
    st.text(st.characters(), min_size=1),
    st.sampled_from(sorted(OURS)),
    st.sampled_from(["share-1", "token:key", "key#1", "invited#12345678-a"]),
)


def test_a_subject_that_is_a_name_of_ours_is_told_from_it() -> None:
    assert [name_of(each) for each in ("key", "agent", "share-0a", "token:key")] == [
        "token:key",
        "token:agent",
        "token:share-0a",
        "token:token:key",
    ]
    assert [name_of(each) for each in (None, "mia", "auth0|7", "mia@example.org")] == ["token", "mia", "auth0|7", "mia@example.org"]
    assert name_of("owner#1f03ac") == "owner%231f03ac", "a person's name has a mark that no subject has"
    assert name_of("a\r\nX: y\x00") == "a%0D%0AX:%20y%00"


@given(SUBJECTS)
def test_a_name_is_short_printable_and_nobody_elses(subject: str) -> None:
    name = name_of(subject)
    assert 0 < len(name) <= MAX_NAME_CHARS
    assert name.isascii()
    assert name.isprintable()
    assert not set("# ") & set(name)
    assert name not in OURS
    assert not name.startswith("share-")


@given(st.lists(SUBJECTS, unique=True, min_size=2, max_size=2), st.booleans())
def test_two_subjects_have_two_names(subjects: list[str], long: bool) -> None:
    one, other = (f"{'x' * 200}{each}" if long else each for each in subjects)
    assert name_of(one) != name_of(other)


def test_who_uses_a_ticket_is_somebody_of_their_own() -> None:
    assert bearer_of("key").startswith("key#")
    assert bearer_of("owner#1f03ac").startswith("owner#")
    assert bearer_of("owner#1f03ac") != bearer_of("owner#1f03ac")


def test_who_came_by_a_request_stays_known_by_it() -> None:
    invited = bearer_of(invited_by("h-0123456789abcdef"))
    assert invited.startswith("invited#01234567-")
    assert bearer_of(invited).startswith("invited#01234567-")
    assert bearer_of(invited) != invited


def test_the_program_that_has_an_agent_key_is_named_after_it_and_no_subject_is() -> None:
    assert agent_of("3fa91c07") == "agent-key-3fa91c07"
    assert is_agents(bearer_of(agent_of("3fa91c07")))
    assert not is_agents(name_of("agent-key-3fa91c07"))


def test_the_owner_is_told_from_whoever_a_token_names() -> None:
    assert [is_owner(each) for each in ("key", "key#1f03ac", "owner#1f03ac", "mia", "token", name_of("owner"))] == [True] * 3 + [False] * 3


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Mia", "guest:Mia"),
        ("  Mia   Sol ", "guest:Mia%20Sol"),
        ("owner#1", "guest:owner%231"),
        ("\u5f20\u4f1f", "guest:%E5%BC%A0%E4%BC%9F"),
    ],
)
def test_a_guest_has_a_name_that_nobody_else_can_have(said: str, name: str) -> None:
    assert guest_of(said) == name
    assert name_of(name) == f"token:{name}".replace("%", "%25")
    assert is_guest(bearer_of(name))
    assert not is_guest(bearer_of("guestbook"))


@pytest.mark.parametrize("said", ["", "   ", "a\u202eb", "a\x00b", "a\u200bb", "x" * 41, "\u5f20" * 14, "\ud800"])
def test_a_guests_name_is_short_and_shows(said: str) -> None:
    with pytest.raises(ValueError, match=r"a name has|surrogates"):
        guest_of(said)
