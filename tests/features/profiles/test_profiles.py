"""Profiles: what is asked of whom, and what a token that names some may do."""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox_server.core import Conflict, InvalidArgument, NotFound, PermissionDenied
from sandbox_server.drivers.devtools.site_storage import ClearedSite
from sandbox_server.features.profiles.profiles import DuplicateRequest, ProfileRef, Profiles, SignOutRequest
from tests.features.profiles.fakes import FakeOwner, FakeStore, call, held

pytestmark = pytest.mark.anyio


class FakeSites:
    """Forgets a site."""

    async def clear(self, site: str) -> ClearedSite:
        return ClearedSite(2, (f"https://{site}",))


class Made:
    """The operations on two profiles, of which `default` is in use."""

    def __init__(self) -> None:
        self.owner = FakeOwner()
        self.store = FakeStore(self.owner, "mail", "work-1")
        self.profiles = Profiles(held(self.owner, self.store), FakeSites())  # type: ignore[arg-type]


@pytest.fixture
def made() -> Made:
    return Made()


async def test_they_are_listed_with_the_one_in_use(made: Made) -> None:
    found = (await made.profiles.list_profiles(call())).profiles
    assert [(each.name, each.in_use) for each in found] == [("default", True), ("mail", False), ("work-1", False)]


async def test_a_token_sees_and_uses_the_ones_that_it_names_and_no_others(made: Made) -> None:
    assert [each.name for each in (await made.profiles.list_profiles(call("work-*"))).profiles] == ["work-1"]
    await made.profiles.use_profile(ProfileRef(name="work-1"), call("work-*"))
    assert made.owner.current == "work-1"
    acts: list[Any] = [
        made.profiles.create_profile(ProfileRef(name="mail2"), call("work-*")),
        made.profiles.use_profile(ProfileRef(name="mail"), call("work-*")),
        made.profiles.duplicate_profile(DuplicateRequest(name="mail", to="work-2"), call("work-*")),
        made.profiles.duplicate_profile(DuplicateRequest(name="work-1", to="mail2"), call("work-*")),
        made.profiles.sign_out_of_site(SignOutRequest(name="mail", site="example.org"), call("work-*")),
        made.profiles.delete_profile(ProfileRef(name="mail"), call("work-*")),
    ]
    for act in acts:
        with pytest.raises(PermissionDenied, match="does not name the profile"):
            await act
    assert (made.owner.current, made.store.asked) == ("work-1", [])


async def test_the_browser_is_stopped_while_its_own_profile_is_copied_and_only_then(made: Made) -> None:
    await made.profiles.duplicate_profile(DuplicateRequest(name="default", to="saved"), call())
    await made.profiles.duplicate_profile(DuplicateRequest(name="mail", to="mail2"), call())
    assert made.store.asked == [("duplicate", "default", "saved", True), ("duplicate", "mail", "mail2", False)]
    assert not made.owner.is_halted


async def test_the_one_in_use_is_not_deleted(made: Made) -> None:
    await made.profiles.use_profile(ProfileRef(name="mail"), call())
    with pytest.raises(Conflict) as caught:
        await made.profiles.delete_profile(ProfileRef(name="mail"), call())
    assert caught.value.details["reason"] == "in_use"
    await made.profiles.delete_profile(ProfileRef(name="work-1"), call())
    assert made.store.asked == [("delete", "work-1", False)]


async def test_a_name_that_is_there_and_one_that_is_not_are_told(made: Made) -> None:
    await made.profiles.create_profile(ProfileRef(name="new"), call())
    with pytest.raises(Conflict, match="there is a profile 'mail'"):
        await made.profiles.create_profile(ProfileRef(name="mail"), call())
    with pytest.raises(NotFound):
        await made.profiles.use_profile(ProfileRef(name="gone"), call())


async def test_a_site_is_forgotten_by_the_profile_in_use_alone(made: Made) -> None:
    done = await made.profiles.sign_out_of_site(SignOutRequest(name="default", site="example.org"), call())
    assert (done.cookies, done.origins) == (2, ["https://example.org"])
    with pytest.raises(Conflict) as caught:
        await made.profiles.sign_out_of_site(SignOutRequest(name="mail", site="example.org"), call())
    assert caught.value.details["reason"] == "not_in_use"
    for site in ("com", "https://example.org", "a..b", "example.org/path", "*"):
        with pytest.raises(InvalidArgument, match="is no host"):
            await made.profiles.sign_out_of_site(SignOutRequest(name="default", site=site), call())


@pytest.mark.parametrize("name", ["", "../x", "A", "a/b", "x" * 64, ".drafts", "a\n"])
def test_a_name_is_a_slug(name: str) -> None:
    with pytest.raises(ValidationError):
        ProfileRef(name=name)
