"""What the environment says of a provider."""

import pytest
from tandem_fleet.errors import InvalidError
from tandem_fleet.oidc.settings import ProviderSettings, require_secure

GOOD = {"ISSUER": "https://id.example", "CLIENT_ID": "fleet", "URL": "https://fleet.example/", "RULES": "staff=acme:member"}


def _of(**changed: str) -> ProviderSettings | None:
    return ProviderSettings.of({f"TANDEM_OIDC_{name}": value for name, value in (GOOD | changed).items()})


def test_the_callback_is_below_the_pages_address() -> None:
    made = _of()
    assert made
    assert made.callback == "https://fleet.example/oidc/callback"
    assert made.claim == "groups"


def test_without_an_issuer_there_is_no_provider() -> None:
    assert _of(ISSUER="") is None


@pytest.mark.parametrize(
    "changed",
    [
        {"CLIENT_ID": ""},
        {"URL": ""},
        {"URL": "https://fleet.example/wall"},
        {"SCOPES": "email"},
        {"RULES": ""},
        {"ISSUER": "http://id.example"},
    ],
)
def test_what_cannot_work_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(InvalidError):
        _of(**changed)


@pytest.mark.parametrize(
    "url", ["", "http://10.0.0.1", "ftp://a", "https://u:p@a", "https://a?b", "https://a#b", "https://[", "https://a:x"]
)
def test_a_url_is_encrypted_or_of_loopback(url: str) -> None:
    for good in ("https://a", "http://localhost:1", "http://127.0.0.1:1/x", "http://[::1]:1"):
        require_secure("it", good)
    with pytest.raises(InvalidError):
        require_secure("it", url)
