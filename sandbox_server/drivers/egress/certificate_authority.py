"""The authority of one container: it signs certificates for the names whose connections are opened, and its key is in memory alone."""

import datetime as dt
import os
import ssl
import time
from collections import OrderedDict

from sandbox_server.drivers.egress.host_names import normal_form
from sandbox_server.drivers.egress.x509_signing import CertificateKey, SignedCertificate
from sandbox_server.drivers.ipc import private_memory

SUBJECT = "Tandem sandbox egress CA"
"""The subject is the same in every container, and so is the name of its link in a directory of certificates."""
LIFETIME = dt.timedelta(days=3650)
LEAF_LIFETIME = dt.timedelta(days=30)
KEPT_SECONDS = 86400.0
"""How long a leaf is used before the next one is signed."""
_EARLIER = dt.timedelta(days=1)
MAX_CONTEXTS = 256
"""Names whose certificates are kept."""
_MAX_COMMON_NAME = 64
_OF_AUTHORITY = {
    "basicConstraints": "critical,CA:TRUE,pathlen:0",
    "keyUsage": "critical,keyCertSign,cRLSign",
    "subjectKeyIdentifier": "hash",
}
_OF_LEAF = {
    "basicConstraints": "critical,CA:FALSE",
    "extendedKeyUsage": "serverAuth",
    "keyUsage": "critical,digitalSignature",
    "authorityKeyIdentifier": "keyid:always",
}


class CertificateAuthority:
    """Makes a key, signs itself, and signs leaves that share one key of this process."""

    def __init__(self) -> None:
        self._leaf_key = CertificateKey()
        self._certificate = SignedCertificate(CertificateKey(), SUBJECT, _valid(LIFETIME), _OF_AUTHORITY)
        self._contexts: OrderedDict[str, tuple[float, ssl.SSLContext]] = OrderedDict()
        self.minted = 0
        """How many leaves were signed."""

    @property
    def pem(self) -> str:
        """The authority's certificate, for those who are to trust it."""
        return self._certificate.pem

    def context(self, name: str) -> ssl.SSLContext:
        """Return the context that serves a name in normal form with its leaf."""
        found = self._contexts.get(name)
        if found and time.monotonic() < found[0]:
            self._contexts.move_to_end(name)
            return found[1]
        made = self._serving(name)
        self._contexts[name] = time.monotonic() + KEPT_SECONDS, made
        self._contexts.move_to_end(name)
        if len(self._contexts) > MAX_CONTEXTS:
            self._contexts.popitem(last=False)
        return made

    def _serving(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        fd = private_memory.create("leaf")  # ssl reads certificates from files alone
        try:
            os.write(fd, self._leaf_key.pem + self._leaf(name).pem.encode())
            context.load_cert_chain(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)
        return context

    def _leaf(self, name: str) -> SignedCertificate:
        """Sign a leaf. Raises ValueError for a name that is not in normal form, which could add to its extensions."""
        if normal_form(name) != name:
            raise ValueError(f"{name[:80]!r} is not in normal form")
        self.minted += 1
        common_name = name if len(name) <= _MAX_COMMON_NAME else ""
        alternative = {"subjectAltName": ("" if common_name else "critical,") + f"DNS:{name}"}
        return SignedCertificate(self._leaf_key, common_name, _valid(LEAF_LIFETIME), alternative | _OF_LEAF, self._certificate)


def _valid(lifetime: dt.timedelta) -> tuple[int, int]:
    return -int(_EARLIER.total_seconds()), int(lifetime.total_seconds())
