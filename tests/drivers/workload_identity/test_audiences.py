"""Which audiences a token may have."""

import pytest

from sandbox_server.core.errors import InvalidArgument, PermissionDenied
from sandbox_server.drivers.workload_identity.audiences import MAX_AUDIENCES, MAX_CHARS, AudienceRules

OWN = "https://box.example.org"


@pytest.mark.parametrize("audience", ["sts.amazonaws.com", "api://AzureADTokenExchange", "https://vault:8200/v1?x=1", "a" * MAX_CHARS])
def test_any_audience_that_is_a_name_or_a_url_is_taken_unless_the_owner_lists_some(audience: str) -> None:
    assert AudienceRules((), OWN).check([audience]) == (audience,)


@pytest.mark.parametrize("audience", ["", " ", "a b", "a\n", "\x00", "münchen", "a\u202eb", '"', "<x>", "a" * (MAX_CHARS + 1), "\ud800"])
def test_an_audience_that_is_empty_huge_or_not_ascii_is_refused(audience: str) -> None:
    with pytest.raises(InvalidArgument):
        AudienceRules((), OWN).check([audience])


@pytest.mark.parametrize("audiences", [[], ["a", "a"], [f"a{number}" for number in range(MAX_AUDIENCES + 1)]])
def test_a_token_has_few_different_audiences(audiences: list[str]) -> None:
    with pytest.raises(InvalidArgument):
        AudienceRules((), OWN).check(audiences)


def test_only_listed_audiences_and_the_sandbox_itself_are_allowed() -> None:
    rules = AudienceRules(("vault", "https://*.no/", "https://api.example.org/*"), OWN)

    assert rules.check(["vault", OWN, "https://api.example.org/x"])
    for other in ("vault2", "vaul", "https://api.example.org", "https://a.no/", "HTTPS://API.EXAMPLE.ORG/x"):
        with pytest.raises(PermissionDenied):
            rules.check(["vault", other])
