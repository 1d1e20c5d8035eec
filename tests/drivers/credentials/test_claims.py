"""Claims that make no sense."""

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.core.errors import Unauthenticated
from sandbox_server.drivers.credentials.claims import MAX_TIME, Claims, claims_of
from tests.tables import table_test

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(["sub", "exp", "nbf", "iat", "scope", "scopes", "tools", "profiles", "lanes", "actor", "aud"])


def read(**claims: Any) -> Claims | None:
    """What is made of them; None where they are refused."""
    try:
        return claims_of(claims)
    except Unauthenticated:
        return None


def is_words(claim: object) -> bool:
    return isinstance(claim, str) or (isinstance(claim, list) and all(isinstance(word, str) for word in claim))


@given(st.dictionaries(NAMES, JSON))
def test_whatever_a_token_says_is_understood_or_refused_and_never_widens(payload: dict[str, Any]) -> None:
    claims = read(**payload)
    if claims is None:
        return
    lists = {"tools": claims.tools, "profiles": claims.profiles, "lanes": claims.lanes}
    for name, allowed in {"scope": claims.scopes, "scopes": claims.scopes, **lists}.items():
        if name in payload:
            assert allowed is not None
            assert is_words(payload[name]) or not allowed
    assert claims.expires is None or (math.isfinite(claims.expires) and 0 <= claims.expires <= MAX_TIME)
    assert ("exp" in payload) == (claims.expires is not None)
    assert ("sub" in payload) == bool(claims.subject)
    assert claims.person == (payload.get("actor") == "person")


@table_test(
    itertools.product(
        ["scope", "scopes", "tools", "profiles", "lanes"],
        [None, True, False, 0, 1.5, {}, {"view": True}, [], [["view"]], ["view", 1], ["view", None], "", " "],
    )
)
def test_a_claim_that_is_there_and_malformed_allows_nothing(name: str, claim: object) -> None:
    claims = claims_of({name: claim})
    assert ({"tools": claims.tools, "profiles": claims.profiles, "lanes": claims.lanes}.get(name, claims.scopes)) in ((), frozenset())


@pytest.mark.parametrize(("scope", "scopes"), [("view admin", ["view"]), ("view", "view admin"), (["view"], ["admin", "view"])])
def test_both_claims_have_to_allow_it(scope: object, scopes: object) -> None:
    assert claims_of({"scope": scope, "scopes": scopes}).scopes == frozenset({"view"})
    assert claims_of({"scope": scope, "scopes": None}).scopes == frozenset()


@table_test(itertools.product(["exp", "nbf", "iat"], [None, True, "1", "", [], {}, -1, math.nan, math.inf, 10**400, 1e300]))
def test_a_time_that_is_none_is_refused(name: str, claim: object) -> None:
    assert read(**{name: claim}) is None


@pytest.mark.parametrize("claim", [None, True, "", "  ", [], ["key"], {}, {"a": 1}, 1.5, 10**400])
def test_a_subject_that_is_no_name_is_refused(claim: object) -> None:
    assert read(sub=claim) is None


@pytest.mark.parametrize(("claim", "task"), [("t-1", "t-1"), ("", None), ("x" * 300, None), (5, None), (["t"], None), ("a\nb", None)])
def test_a_task_is_a_short_text_or_none(claim: object, task: str | None) -> None:
    assert claims_of({"task": claim}).task == task
    assert claims_of({}).task is None


@pytest.mark.parametrize("actor", [None, True, 1, [], ["person"], {"person": 1}, "", "Person", "person "])
def test_an_actor_that_is_not_said_to_be_a_person_is_a_program(actor: object) -> None:
    assert not claims_of({"actor": actor}).person


def test_times_that_issuers_write_are_read() -> None:
    assert [claims_of(json.loads(f'{{"exp":{text}}}')).expires for text in ("0", "1999999999", "1.5e9", "1999999999999")] == [
        0,
        1999999999,
        1.5e9,
        1999999999999,
    ]
    assert claims_of({"sub": 42}).subject == "42"
