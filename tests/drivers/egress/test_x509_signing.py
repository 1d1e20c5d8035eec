import datetime as dt
import gc
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox_server.drivers.egress import x509_signing
from sandbox_server.drivers.egress.x509_signing import CertificateKey, SignedCertificate, SigningFailed

DAY = 86400
OF_AUTHORITY = {"basicConstraints": "critical,CA:TRUE,pathlen:0", "subjectKeyIdentifier": "hash"}
OF_LEAF = {"subjectAltName": "DNS:a.example", "authorityKeyIdentifier": "keyid:always"}


def read(certificate: SignedCertificate) -> x509.Certificate:
    """As another library reads it."""
    return x509.load_pem_x509_certificate(certificate.pem.encode())


def authority() -> SignedCertificate:
    return SignedCertificate(CertificateKey(), "An authority", (-DAY, DAY), OF_AUTHORITY)


def test_a_leaf_is_what_another_library_reads_and_verifies() -> None:
    issuer, key = authority(), CertificateKey()
    found, by = read(SignedCertificate(key, "a.example", (-DAY, 30 * DAY), OF_LEAF, issuer)), read(issuer)
    found.verify_directly_issued_by(by)
    assert found.version is x509.Version.v3
    assert (found.subject.rfc4514_string(), found.issuer.rfc4514_string()) == ("CN=a.example", "CN=An authority")
    alternative = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert alternative.get_values_for_type(x509.DNSName) == ["a.example"]
    identified = found.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert identified.key_identifier == by.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    assert found.not_valid_after_utc - found.not_valid_before_utc == dt.timedelta(days=31)


def test_an_authority_is_signed_by_itself_and_critical_extensions_stay_critical() -> None:
    found = read(authority())
    found.verify_directly_issued_by(found)
    extension = found.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (extension.critical, extension.value.ca, extension.value.path_length) == (True, True, 0)


def test_serial_numbers_are_positive_different_and_short_enough() -> None:
    key = CertificateKey()
    numbers = {read(SignedCertificate(key, "", (0, DAY), {})).serial_number for _ in range(20)}
    assert len(numbers) == 20
    assert all(0 < number < 1 << 159 for number in numbers)


def test_a_key_is_the_private_key_of_its_certificate() -> None:
    key = CertificateKey()
    private = serialization.load_pem_private_key(key.pem, None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert isinstance(private.curve, ec.SECP256R1)
    assert read(SignedCertificate(key, "x", (0, DAY), {})).public_key() == private.public_key()
    assert key.pem != CertificateKey().pem


@pytest.mark.parametrize("extensions", [{"noSuchExtension": "x"}, {"basicConstraints": "CA:PERHAPS"}, {"subjectAltName": "nonsense"}])
def test_what_libcrypto_refuses_is_an_error_that_names_the_step(extensions: dict[str, str]) -> None:
    with pytest.raises(SigningFailed, match="X509V3_EXT_nconf"):
        SignedCertificate(CertificateKey(), "x", (0, DAY), extensions)


def test_ten_thousand_certificates_leave_no_memory_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    made, freed = 0, 0
    call, release = x509_signing._libcrypto.call, x509_signing._libcrypto.release

    def counting_call(name: str, *arguments: object) -> int:
        nonlocal made
        made += name in ("X509_new", "BN_bin2bn", "X509V3_EXT_nconf", "EVP_PKEY_Q_keygen")
        return call(name, *arguments)

    def counting_release(name: str, *arguments: object) -> None:
        nonlocal freed
        freed += name in ("X509_free", "BN_free", "X509_EXTENSION_free", "EVP_PKEY_free")
        release(name, *arguments)

    monkeypatch.setattr(x509_signing._libcrypto, "call", counting_call)
    monkeypatch.setattr(x509_signing._libcrypto, "release", counting_release)
    issuer, key = authority(), CertificateKey()
    resident = _resident()
    for number in range(10_000):
        SignedCertificate(key, f"h{number}.example", (0, DAY), {"subjectAltName": f"DNS:h{number}.example"}, issuer)
    assert _resident() - resident < 4 << 20
    del issuer, key
    gc.collect()
    assert made == freed > 30_000


def test_signing_loads_no_second_libcrypto() -> None:
    program = (
        "from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority; import sys; "
        "CertificateAuthority().context('a.example'); assert 'cryptography' not in sys.modules; "
        "print(len({line.split()[-1] for line in open('/proc/self/maps') if 'libcrypto' in line}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("1", "")


def _resident() -> int:
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmRSS:") + 1]) << 10
