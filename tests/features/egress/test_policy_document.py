import pytest

from sandbox_server.core import PreconditionFailed, PreconditionRequired, Unavailable
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.features.egress.policy_document import PolicyInForce, etag_of, named, with_passwords, without_passwords
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import Ruling, allowed, put

pytestmark = pytest.mark.anyio
RULE = {"name": "docs", "action": "allow", "hosts": ["docs.example"]}
UPSTREAM = "http://user:geheim@proxy.example:3128"


async def test_the_document_is_the_one_that_the_process_enforces(lab: EgressLab, ruling: Ruling) -> None:
    assert await ruling.policy.read() == ({"default": "deny"}, etag_of({"default": "deny"}))
    put(lab, {"default": "allow"})
    assert (await ruling.policy.read())[0] == {"default": "allow"}


async def test_a_change_on_the_version_that_was_read_holds_at_once_and_is_told(lab: EgressLab, ruling: Ruling) -> None:
    _, etag = await ruling.policy.read()
    document, changed, cut = await ruling.policy.change("ada", "put", lambda _: {"default": "deny", "rules": [RULE]}, f'"other", {etag}')
    assert (document["rules"], cut, changed == etag) == ([RULE], 0, False)
    assert allowed(lab, "docs.example") == "allow by docs"
    assert ruling.told == [("ada", "put", changed, 0, None)]


@pytest.mark.parametrize(("version", "failure"), [(None, PreconditionRequired), ('"old"', PreconditionFailed), ("", PreconditionFailed)])
async def test_a_change_on_another_version_is_refused(
    lab: EgressLab, ruling: Ruling, version: str | None, failure: type[Exception]
) -> None:
    with pytest.raises(failure):
        await ruling.policy.change("ada", "put", lambda _: {"default": "allow"}, version)
    assert allowed(lab, "docs.example") == "deny by default"
    assert ruling.told == []


async def test_what_is_no_policy_is_refused_by_field_and_the_old_one_stands(lab: EgressLab, ruling: Ruling) -> None:
    await ruling.policy.change("ada", "put", lambda _: {"rules": [RULE]}, "*")
    with pytest.raises(InvalidFields) as refused:
        await ruling.policy.change("ada", "put", lambda _: {"rules": [{"action": "permit", "hosts": ["a"]}]}, "*")
    assert [problem["pointer"] for problem in refused.value.problems] == ["/rules/0/action"]
    assert allowed(lab, "docs.example") == "allow by docs"


async def test_a_process_that_is_away_is_named(tmp_path: object) -> None:
    policy = PolicyInForce(EgressClient(f"{tmp_path}/none"))
    with pytest.raises(Unavailable, match="does not answer"):
        await policy.read()


def test_the_version_is_that_of_the_content_and_not_of_its_form() -> None:
    assert etag_of({"a": 1, "b": [2]}) == etag_of({"b": [2], "a": 1})
    assert etag_of({"a": 1}) != etag_of({"a": 2})
    assert etag_of({"a": "\ud800"}).startswith('"')


def test_rules_get_names_that_stay_theirs() -> None:
    rules = [{"action": "deny"}, {"name": "rule 0", "action": "allow"}, "x", {"action": "ask"}]
    made = named({"rules": rules})["rules"]
    assert [each if isinstance(each, str) else each["name"] for each in made] == ["rule 1", "rule 0", "x", "rule 3"]
    assert named({"rules": 5}) == {"rules": 5}
    assert named({}) == {}


def test_passwords_are_not_shown_and_are_kept_where_they_are_left_as_shown() -> None:
    document = {"upstreams": {"out": UPSTREAM, "plain": "socks5://proxy.example:1080"}}
    shown = without_passwords(document)
    assert shown["upstreams"] == {"out": "http://user:***@proxy.example:3128", "plain": "socks5://proxy.example:1080"}
    assert with_passwords(shown, document) == document


@pytest.mark.parametrize("url", ["http://user:***@evil.example:3128", "http://other:***@proxy.example:3128", 5, None, "http://["])
def test_a_password_is_given_to_no_other_proxy(url: object) -> None:
    changed = {"upstreams": {"out": url}}
    assert with_passwords(changed, {"upstreams": {"out": UPSTREAM}}) == changed
    assert with_passwords({"upstreams": {"in": "http://user:***@proxy.example:3128"}}, {"upstreams": {"out": UPSTREAM}})["upstreams"] == {
        "in": "http://user:***@proxy.example:3128"
    }


@pytest.mark.parametrize("upstreams", [5, [], "x"])
def test_upstreams_that_are_none_are_left_to_be_refused(upstreams: object) -> None:
    assert without_passwords({"upstreams": upstreams}) == {"upstreams": upstreams}
    assert with_passwords({"upstreams": {"a": "http://a:1"}}, {"upstreams": upstreams}) == {"upstreams": {"a": "http://a:1"}}
