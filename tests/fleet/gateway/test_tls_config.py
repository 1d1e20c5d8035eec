"""What Caddy is told of certificates."""

from pathlib import Path

from tandem_fleet.gateway.tls_config import Acme, Files, tls_of_acme, tls_of_files


def test_a_certificate_is_read_from_its_files() -> None:
    made = tls_of_files(Files(Path("/c.pem"), Path("/k.pem")))
    assert made == {"certificates": {"load_files": [{"certificate": "/c.pem", "key": "/k.pem"}]}}


def test_an_authority_is_asked_for_names_that_the_fleet_knows() -> None:
    plain = tls_of_acme(Acme("a@b.test"), 8443, "http://127.0.0.1:9/secret")["automation"]
    own = tls_of_acme(Acme("a@b.test", "https://ca.test/directory", Path("/root.pem")), 8443, "http://127.0.0.1:9/secret")["automation"]
    assert plain["on_demand"]["permission"] == {"module": "http", "endpoint": "http://127.0.0.1:9/secret"}
    [one], [other] = (policies["policies"][0]["issuers"] for policies in (plain, own))
    assert (one["email"], one["challenges"]["tls-alpn"], "ca" in one) == ("a@b.test", {"alternate_port": 8443}, False)
    assert (other["ca"], other["trusted_roots_pem_files"]) == ("https://ca.test/directory", ["/root.pem"])
