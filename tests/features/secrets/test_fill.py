import base64
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox_server.core import Call, Caller, Conflict, InvalidArgument, NotFound, PermissionDenied
from sandbox_server.drivers.browser.browser_client import SecretSource
from sandbox_server.features.secrets.fill import FillSecret, SecretFilling
from tests.features.secrets.conftest import VALUE, RegistryLab

pytestmark = pytest.mark.anyio
AGENT = Caller("agent-1", frozenset({"browser"}))
IN_FORMS = {"hosts": ["a.example"], "places": ["form:password"], "browser": True}
KEY = base64.b32encode(b"12345678901234567890").decode()


@dataclass
class Page:
    """A page of one origin."""

    origin: str = "https://a.example"
    dropped: list[tuple[str, str]] = field(default_factory=list)
    told: list[tuple[str, str, str]] = field(default_factory=list)
    sources: list[SecretSource] = field(default_factory=list)

    def tell(self, caller: str, name: str, origin: str) -> None:
        self.told.append((caller, name, origin))

    async def drop(self, origin: str, selector: str, value: str, source: SecretSource) -> None:
        if origin != self.origin:
            raise Conflict("another origin", reason="other_origin")
        if selector == "#none":
            raise Conflict("no field", reason="no_field")
        self.dropped.append((selector, value))
        self.sources.append(source)


async def filled(lab: RegistryLab, page: Page, selector: str = "#pw", **document: Any) -> Any:
    await lab.registry.put("P", document, document.pop("value", VALUE))
    filling = SecretFilling(lab.registry, page.drop, page.tell, lambda: 30.0)
    return await filling.fill_secret(FillSecret(name="P", selector=selector), Call(AGENT, "1"))


async def test_the_value_goes_into_a_page_of_an_origin_that_is_allowed(lab: RegistryLab) -> None:
    page = Page()
    found = await filled(lab, page, fill=["https://other.example", "https://a.example"])
    assert (found.origin, found.placeholder) == ("https://a.example", False)
    assert page.dropped == [("#pw", VALUE)]
    assert page.told == [(AGENT.name, "P", "https://a.example")]
    assert VALUE not in str(found)


async def test_where_the_form_gets_it_on_its_way_out_the_page_has_the_placeholder(lab: RegistryLab) -> None:
    page = Page()
    found = await filled(lab, page, fill=["https://a.example"], bindings=[IN_FORMS])
    assert found.placeholder
    assert page.dropped == [("#pw", lab.registry.get("P").placeholder)]


async def test_without_the_word_that_pages_may_the_page_has_the_value(lab: RegistryLab) -> None:
    page = Page()
    found = await filled(lab, page, fill=["https://a.example"], bindings=[{**IN_FORMS, "browser": False}])
    assert not found.placeholder
    assert page.dropped == [("#pw", VALUE)]


async def test_the_key_of_one_time_passwords_becomes_the_code(lab: RegistryLab) -> None:
    page = Page()
    await filled(lab, page, fill=["https://a.example"], kind="totp", value=KEY)
    assert page.dropped == [("#pw", "287082")]
    with pytest.raises(InvalidArgument, match="no key"):
        await filled(lab, page, fill=["https://a.example"], kind="totp", value="not-base32!")


async def test_what_a_program_has_filled_in_is_no_persons_and_a_code_is_a_code(lab: RegistryLab) -> None:
    page = Page()
    await filled(lab, page, fill=["https://a.example"])
    await filled(lab, page, fill=["https://a.example"], kind="totp", value=KEY)
    assert page.sources == ["program", "code"]


async def test_a_page_of_another_origin_gets_nothing(lab: RegistryLab) -> None:
    page = Page("https://evil.example")
    with pytest.raises(Conflict, match=r"may be filled into https://a\.example alone"):
        await filled(lab, page, fill=["https://a.example"])
    assert page.dropped == []


async def test_a_field_that_is_not_there_is_said(lab: RegistryLab) -> None:
    with pytest.raises(Conflict, match="no field"):
        await filled(lab, Page(), "#none", fill=["https://a.example"])


async def test_a_secret_that_is_not_for_pages_is_refused(lab: RegistryLab) -> None:
    with pytest.raises(PermissionDenied):
        await filled(lab, Page(), bindings=[{"hosts": ["a.example"]}])
    filling = SecretFilling(lab.registry, Page().drop, lambda *_: None)
    with pytest.raises(NotFound):
        await filling.fill_secret(FillSecret(name="NONE", selector="#pw"), Call(AGENT, "1"))
