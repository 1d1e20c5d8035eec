"""Who gets the value of a secret in the running image: programs of the agent, and pages of the bound host where its binding says so."""

import hashlib
import json
from collections.abc import Iterator

import pytest

from tests.image.brokered import HOST, OTHER, Brokered, brokered_sandbox
from tests.patience import until

PASSWORD = "a-password-for-pages"
FROM_A_PAGE = """
(async () => {
  const [placeholder, url] = [%r, %r];
  const form = {"Content-Type": "application/x-www-form-urlencoded"};
  const loaded = (element) => new Promise((done) => { element.onload = element.onerror = done; });
  await fetch(url + "/cors", {headers: {Authorization: placeholder}}).catch(() => 0);
  await fetch(url + "/query?key=" + placeholder, {mode: "no-cors"}).catch(() => 0);
  await fetch(url + "/form", {method: "POST", mode: "no-cors", headers: form, body: "password=" + placeholder}).catch(() => 0);
  const image = new Image();
  const shown = loaded(image);
  image.src = url + "/image?key=" + placeholder;
  await shown;
  const frame = document.createElement("iframe");
  frame.name = "answer";
  document.body.append(frame);
  const sent = document.createElement("form");
  Object.assign(sent, {method: "post", action: url + "/post", target: "answer"});
  sent.innerHTML = "<input name=password value=" + placeholder + ">";
  document.body.append(sent);
  const posted = loaded(frame);
  sent.submit();
  await posted;
  return "asked";
})()
"""
WAYS = ("cors", "query", "form", "image", "post")


@pytest.fixture(scope="module")
def brokered() -> Iterator[Brokered]:
    """One sandbox for all tests here."""
    yield from brokered_sandbox()


def test_a_header_that_no_binding_names_keeps_the_placeholder(brokered: Brokered) -> None:
    brokered.put("BEARER", value="a-value-for-bearers", bindings=[{"hosts": [HOST], "paths": ["/default/**"]}])
    placeholder = brokered.placeholder_of("BEARER")
    brokered.run(f'curl -sS -m 20 -A {placeholder} -H "X-Key: {placeholder}" -H "Authorization: {placeholder}" https://{HOST}/default/x')
    assert [brokered.field(name) for name in ("User-Agent", "X-Key", "Authorization")] == [placeholder, placeholder, "a-value-for-bearers"]


def test_nobody_guesses_a_placeholder_by_the_secret_s_name(brokered: Brokered) -> None:
    guessed = f"tandem_TOKEN_{hashlib.sha256(b'tandem placeholder TOKEN').hexdigest()[:12]}"
    brokered.run(f'curl -sS -m 20 -H "X-Key: {guessed}" https://{HOST}/v1/guessed')
    assert brokered.field("X-Key") == guessed


def test_programs_of_other_users_in_the_box_get_no_value(brokered: Brokered) -> None:
    command = f'curl -sS -m 20 -H "X-Key: {brokered.placeholder}" https://{HOST}/v1'
    brokered.run(f"{command}/root", user="root")
    assert brokered.field("X-Key") == brokered.token
    brokered.run(f"sudo -u nobody {command}/nobody")
    assert brokered.last()["path"] == "/v1/nobody"
    assert brokered.field("X-Key") == brokered.placeholder
    assert brokered.reasons("/v1/nobody") == {"other_user"}


def test_a_value_that_was_put_is_bound_elsewhere_by_nobody_who_does_not_know_it(brokered: Brokered) -> None:
    before = next(each for each in brokered.listed() if each["name"] == "TOKEN")
    wider = ({"hosts": [OTHER]}, {"hosts": [HOST], "places": ["query"]})
    for document in (*({"bindings": [each]} for each in wider), {"fill": [f"https://{OTHER}"]}):
        reply = brokered.sandbox.request("PUT", "/v1/secrets/TOKEN", json=document)
        assert (reply.status_code, "give the value again" in reply.text) == (400, True), reply.text
    for source in ({"env": "SANDBOX_API_KEY"}, {"file": "/run/sandbox/session-key"}):
        reply = brokered.sandbox.request("PUT", "/v1/secrets/STOLEN", json={"bindings": [{"hosts": [OTHER]}], "source": source})
        assert (reply.status_code, "SECRETS declares" in reply.text) == (400, True), reply.text
    after = next(each for each in brokered.listed() if each["name"] == "TOKEN")
    assert after["bindings"] == before["bindings"]


def asked_by_a_page(brokered: Brokered, host: str, folder: str) -> dict[str, str]:
    """What came to the bound host of each way in which a page of a host asks it, with the placeholder of PAGES: line, fields and body."""
    placeholder = brokered.placeholder_of("PAGES")
    brokered.sandbox.show(f"https://{host}/page")
    assert "asked" in brokered.evaluate(FROM_A_PAGE % (placeholder, f"https://{HOST}/pages/{folder}"))
    heard = [each for each in brokered.heard() if each["method"] != "OPTIONS"]
    return {way: json.dumps(each) for way in WAYS for each in heard if str(each["path"]).startswith(f"/pages/{folder}/{way}")}


@pytest.fixture
def pages(brokered: Brokered) -> str:
    """The placeholder of a password that pages of its host may send. The other host has a secret, too, so that its pages are shown."""
    bound = {"hosts": [HOST], "paths": ["/pages/**"], "places": ["header:Authorization", "query", "form:password"], "browser": True}
    brokered.put("PAGES", value=PASSWORD, bindings=[bound], fill=[f"https://{HOST}"])
    brokered.put("ELSEWHERE", value="a-value-for-elsewhere", bindings=[{"hosts": [OTHER]}])
    return brokered.placeholder_of("PAGES")


def test_a_page_of_another_site_gets_no_value_sent(brokered: Brokered, pages: str) -> None:
    said = asked_by_a_page(brokered, OTHER, "evil")
    assert said.keys() == set(WAYS)
    assert not [way for way, request in said.items() if PASSWORD in request or pages not in request]
    assert brokered.reasons("/pages/evil/cors") == {"other_origin"}


def test_a_page_of_the_bound_host_does_where_the_binding_says_so(brokered: Brokered, pages: str) -> None:
    said = asked_by_a_page(brokered, HOST, "own")
    assert said.keys() == set(WAYS)
    assert not [way for way, request in said.items() if PASSWORD not in request or pages in request]
    asked = "fetch('/pages/own/shared', {headers: {Authorization: '%s'}})"
    shared = f"{asked}.then((got) => String(got.headers.get('access-control-allow-origin')))"
    assert '"null"' in brokered.evaluate(shared % pages)
    assert '"*"' in brokered.evaluate(shared % "nothing")


def test_a_page_of_the_bound_host_gets_none_where_the_binding_does_not(brokered: Brokered) -> None:
    brokered.sandbox.show(f"https://{HOST}/page")
    brokered.evaluate(f"fetch('/v1/page', {{headers: {{Authorization: '{brokered.placeholder}'}}}}).then(() => 'asked')")
    assert brokered.field("Authorization") == brokered.placeholder
    assert brokered.reasons("/v1/page") == {"own_page"}


def test_a_browser_that_the_agent_starts_itself_is_held_to_its_pages_too(brokered: Brokered) -> None:
    fields = '-H "Sec-Fetch-Site: cross-site" -H "Origin: https://evil.example"'
    brokered.run(f'curl -sS -m 20 {fields} -H "X-Key: $TOKEN" https://{HOST}/v1/own-browser')
    assert brokered.field("X-Key") == brokered.placeholder


def test_a_sign_in_form_posts_the_value_and_the_page_never_has_it(brokered: Brokered, pages: str) -> None:
    brokered.sandbox.show(f"https://{HOST}/page")
    reply = brokered.fill("PAGES", "#pw")
    assert (reply.status_code, reply.json()["data"]["placeholder"]) == (200, True), reply.text
    assert PASSWORD not in brokered.evaluate("document.querySelector('#pw').value + document.documentElement.outerHTML")
    brokered.evaluate("document.querySelector('form').submit()")

    def is_signed_in() -> bool:
        return "/pages/signed" in brokered.evaluate("location.pathname")

    until(is_signed_in, told=lambda: brokered.evaluate("location.href"))
    assert PASSWORD not in brokered.evaluate("document.documentElement.outerHTML")
    posted = next(each for each in reversed(brokered.heard()) if each["path"] == "/pages/signed")
    assert posted["body"] == f"password={PASSWORD}"
