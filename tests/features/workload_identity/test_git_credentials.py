"""Which hosts git gets a credential for."""

import pytest

from sandbox_server.core import InvalidArgument
from sandbox_server.features.workload_identity.git_credentials import GitCredential, GitCredentials

pytestmark = pytest.mark.anyio


async def token(host: str) -> GitCredential:
    return GitCredential("x", f"token for {host}", 1.0)


async def placeholder(host: str) -> GitCredential | None:
    return GitCredential("y", "placeholder") if host == "bound.example" else None


GIT = GitCredentials(("git.example", "git.example:8443", "bound.example"), token, placeholder)


@pytest.mark.parametrize("host", ["git.example", "GIT.example", "git.example:443", "git.example:8443"])
async def test_a_configured_host_gets_a_token(host: str) -> None:
    found = await GIT.find("https", host)
    assert found
    assert found.password == f"token for {host.lower().removesuffix(':443')}"


@pytest.mark.parametrize(
    "host", ["evil.example", "git.example.evil.example", "xgit.example", "git.example:80", "example", "sub.git.example"]
)
async def test_every_other_host_gets_none(host: str) -> None:
    assert await GIT.find("https", host) is None


@pytest.mark.parametrize("protocol", ["http", "ssh", "git", "HTTPS", "", "file"])
async def test_nothing_is_sent_without_tls(protocol: str) -> None:
    assert await GIT.find(protocol, "git.example") is None
    assert await GIT.find(protocol, "bound.example") is None


@pytest.mark.parametrize(
    "host", ["", " ", "git.example\n", "a@git.example", "git.example/x", "gít.example", "x" * 300, "git.example#", "git.example."]
)
async def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(InvalidArgument):
        await GIT.find("https", host)


async def test_a_secret_that_is_bound_to_the_host_goes_before_the_token() -> None:
    assert await GIT.find("https", "bound.example") == GitCredential("y", "placeholder")
