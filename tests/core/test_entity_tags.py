import pytest

from sandbox_server.core import PreconditionFailed, PreconditionRequired
from sandbox_server.core.entity_tags import asked_version, is_not_modified, require_version

ETAG = '"v1"'


@pytest.mark.parametrize(
    ("headers", "parameter", "asked"),
    [
        ({}, None, None),
        ({}, "*", "*"),
        ({"if-match": ETAG}, None, ETAG),
        ({"if-match": ETAG}, "*", ETAG),
        ({"if-match": ""}, "*", "*"),
        ({"if-match": " "}, None, None),
        ({"if-match": ""}, "", None),
    ],
)
def test_the_header_says_the_version_and_the_parameter_where_the_header_is_empty(
    headers: dict[str, str], parameter: str | None, asked: str | None
) -> None:
    assert asked_version(headers, parameter) == asked


@pytest.mark.parametrize("asked", ["*", ETAG, '"v0", "v1"', '"v0","v1",', '"a,b", "v1"', ',, "v1"'])
def test_the_version_that_is_there_may_be_changed(asked: str) -> None:
    require_version(asked, ETAG, "policy")


@pytest.mark.parametrize("asked", ['"v0"', "v1", 'W/"v1"', '"v1', 'v1"', '"v0" x "v1"', '"v1" W/', '"', "*, *", '"a,"v1"'])
def test_another_version_a_weak_one_and_a_malformed_one_are_refused(asked: str) -> None:
    with pytest.raises(PreconditionFailed, match="the policy was changed") as refused:
        require_version(asked, ETAG, "policy")
    assert refused.value.details["etag"] == ETAG


def test_a_change_without_a_version_is_refused() -> None:
    with pytest.raises(PreconditionRequired, match="send If-Match"):
        require_version(None, ETAG, "policy")


@pytest.mark.parametrize(
    ("known", "same"),
    [(ETAG, True), ('W/"v1"', True), ('"v0", W/"v1"', True), ("*", True), ('"v0"', False), ("", False), ("v1", False), ('"v1', False)],
)
def test_a_client_that_knows_the_version_is_not_sent_it_again(known: str, same: bool) -> None:
    assert is_not_modified({"if-none-match": known}, ETAG) is same


def test_a_client_without_the_header_knows_nothing() -> None:
    assert not is_not_modified({}, ETAG)
