import pytest

from sandbox_server.drivers.egress import public_suffixes
from sandbox_server.drivers.egress.public_suffixes import is_public_suffix


@pytest.mark.parametrize("name", ["com", "co.uk", "github.io", "s3.amazonaws.com", "example", "bücher"])
def test_names_under_which_anybody_may_register_are_public(name: str) -> None:
    assert is_public_suffix(name)


@pytest.mark.parametrize("name", ["example.com", "cdn.example.co.uk", "tandem.github.io"])
def test_names_of_somebody_are_not(name: str) -> None:
    assert not is_public_suffix(name)


def test_without_the_list_every_name_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_suffixes, "LIBRARY", "libnone.so.1")
    public_suffixes._library.cache_clear()
    try:
        assert is_public_suffix("example.com")
    finally:
        public_suffixes._library.cache_clear()
