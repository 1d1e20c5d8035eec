import socket
import ssl
import threading
import time

import pytest

from sandbox_server.drivers.egress import certificate_authority
from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority
from tests.patience import PATIENCE_SECONDS


def greeted(authority: CertificateAuthority, name: str, asked: str) -> str | None:
    """The certificate's name that a client sees, which trusts the authority alone."""
    ours, theirs = socket.socketpair()
    client = ssl.create_default_context(cadata=authority.pem)
    client.set_alpn_protocols(["h2", "http/1.1"])

    def serve() -> None:
        try:
            authority.context(name).wrap_socket(theirs, server_side=True).close()
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=asked) as tls:
            assert tls.selected_alpn_protocol() == "http/1.1"
            return str(tls.getpeercert()["subjectAltName"][0][1])  # type: ignore[index]
    finally:
        ours.close()
        thread.join(PATIENCE_SECONDS)


def test_a_leaf_is_good_for_its_name_alone() -> None:
    authority = CertificateAuthority()
    long = ".".join(["a" * 60] * 3 + ["example"])
    assert greeted(authority, "a.example", "a.example") == "a.example"
    assert greeted(authority, long, long) == long
    with pytest.raises(ssl.SSLCertVerificationError):
        greeted(authority, "a.example", "b.example")


def test_ten_thousand_names_keep_no_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate_authority, "MAX_CONTEXTS", 8)
    authority = CertificateAuthority()
    first = authority.context("kept.example")
    for number in range(1000):
        authority.context(f"h{number}.example")
        assert authority.context("kept.example") is first
    assert len(authority._contexts) == 8
    assert authority.minted == 1001


def test_a_leaf_is_signed_again_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    authority = CertificateAuthority()
    first = authority.context("a.example")
    assert authority.context("a.example") is first
    later = time.monotonic() + certificate_authority.KEPT_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert authority.context("a.example") is not first


def test_two_containers_have_two_authorities() -> None:
    assert CertificateAuthority().pem != CertificateAuthority().pem


@pytest.mark.parametrize("name", ["A.example", "a.example,DNS:b.example", "a.example,IP:10.0.0.1", "*.example", "", "a\0.example"])
def test_a_name_that_is_not_in_normal_form_gets_no_leaf(name: str) -> None:
    with pytest.raises(ValueError, match=r"host name|normal form"):
        CertificateAuthority().context(name)
