"""X.509 certificates for P-256 keys, by the libcrypto that `ssl` has loaded: `cryptography` brings one of its own, of 10 MB."""

import _ssl
import base64
import ctypes
import secrets
import ssl
from collections.abc import Mapping
from typing import Any

_SERIAL_BITS = 127
_VERSION_3 = 2
_UTF8 = 0x1000
"""MBSTRING_UTF8."""
_EXTENSION_CONTEXT = 256
"""Bytes for an X509V3_CTX, which has 64."""
_LINE = 64
"""Characters of a line in PEM (RFC 7468)."""
_Pointer, _Text, _Int, _Long = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_long
_PROTOTYPES: Mapping[str, tuple[Any, ...]] = {
    "EVP_PKEY_Q_keygen": (_Pointer, _Pointer, _Text, _Text, _Text),
    "EVP_PKEY_free": (None, _Pointer),
    "EVP_sha256": (_Pointer,),
    "i2d_PrivateKey": (_Int, _Pointer, _Pointer),
    "i2d_X509": (_Int, _Pointer, _Pointer),
    "BN_bin2bn": (_Pointer, _Text, _Int, _Pointer),
    "BN_free": (None, _Pointer),
    "BN_to_ASN1_INTEGER": (_Pointer, _Pointer, _Pointer),
    "X509_new": (_Pointer,),
    "X509_free": (None, _Pointer),
    "X509_set_version": (_Int, _Pointer, _Long),
    "X509_get_serialNumber": (_Pointer, _Pointer),
    "X509_getm_notBefore": (_Pointer, _Pointer),
    "X509_getm_notAfter": (_Pointer, _Pointer),
    "X509_gmtime_adj": (_Pointer, _Pointer, _Long),
    "X509_get_subject_name": (_Pointer, _Pointer),
    "X509_set_issuer_name": (_Int, _Pointer, _Pointer),
    "X509_NAME_add_entry_by_txt": (_Int, _Pointer, _Text, _Int, _Text, _Int, _Int, _Int),
    "X509_set_pubkey": (_Int, _Pointer, _Pointer),
    "X509V3_set_ctx": (None, _Pointer, _Pointer, _Pointer, _Pointer, _Pointer, _Int),
    "X509V3_EXT_nconf": (_Pointer, _Pointer, _Pointer, _Text, _Text),
    "X509_EXTENSION_free": (None, _Pointer),
    "X509_add_ext": (_Int, _Pointer, _Pointer, _Int),
    "X509_sign": (_Int, _Pointer, _Pointer, _Pointer),
    "ERR_clear_error": (None,),
}


class SigningFailed(Exception):
    """libcrypto refused a step; the message names its function."""


class _Libcrypto:
    """The functions of libcrypto. A step that fails raises SigningFailed, and leaves nothing in the queue of errors that `ssl` reads."""

    def __init__(self) -> None:
        library = ctypes.CDLL(_ssl.__file__)  # whose symbols are found in what it is linked with
        self._functions: dict[str, Any] = {}
        for name, (result, *arguments) in _PROTOTYPES.items():
            function = self._functions[name] = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def call(self, name: str, *arguments: object) -> int:
        """Call a function whose answer is a pointer or a number above zero. Raises SigningFailed."""
        found = self._functions[name](*arguments)
        if not found or found < 0:
            self.release("ERR_clear_error")
            raise SigningFailed(f"{name} failed")
        return int(found)

    def release(self, name: str, *arguments: object) -> None:
        """Call a function without an answer."""
        self._functions[name](*arguments)

    def der(self, encoder: str, pointer: int) -> bytes:
        """Encode a value. Raises SigningFailed."""
        room = ctypes.create_string_buffer(self.call(encoder, pointer, None))
        end = ctypes.c_void_p(ctypes.addressof(room))
        self.call(encoder, pointer, ctypes.byref(end))
        return room.raw


_libcrypto = _Libcrypto()


class CertificateKey:
    """A key on the curve P-256, which is in libcrypto's memory. Raises SigningFailed."""

    def __init__(self) -> None:
        self.pointer = _libcrypto.call("EVP_PKEY_Q_keygen", None, None, b"EC", b"P-256")

    def __del__(self) -> None:
        if pointer := getattr(self, "pointer", 0):
            _libcrypto.release("EVP_PKEY_free", pointer)

    @property
    def pem(self) -> bytes:
        """The private key in the form of RFC 5915."""
        text = base64.b64encode(_libcrypto.der("i2d_PrivateKey", self.pointer)).decode("ascii")
        lines = (text[at : at + _LINE] for at in range(0, len(text), _LINE))
        return "\n".join(("-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----", "")).encode()


class SignedCertificate:
    """A certificate for `key`: signed by the key of `issuer`, or by its own without one.

    `extensions` are in the notation of x509v3_config(5), which gives a meaning to commas and colons: the caller vouches
    for its text. `valid` is from and to, in seconds from now. Raises SigningFailed.
    """

    def __init__(
        self,
        key: CertificateKey,
        common_name: str,
        valid: tuple[int, int],
        extensions: Mapping[str, str],
        issuer: "SignedCertificate | None" = None,
    ) -> None:
        self.key = key
        self.pointer = _libcrypto.call("X509_new")
        self._number()
        self._date(*valid)
        if common_name:
            subject = _libcrypto.call("X509_get_subject_name", self.pointer)
            _libcrypto.call("X509_NAME_add_entry_by_txt", subject, b"CN", _UTF8, common_name.encode(), -1, -1, 0)
        by = issuer or self
        _libcrypto.call("X509_set_issuer_name", self.pointer, _libcrypto.call("X509_get_subject_name", by.pointer))
        _libcrypto.call("X509_set_pubkey", self.pointer, key.pointer)
        for name, value in extensions.items():
            self._extend(name, value, by)
        _libcrypto.call("X509_sign", self.pointer, by.key.pointer, _libcrypto.call("EVP_sha256"))

    def __del__(self) -> None:
        if pointer := getattr(self, "pointer", 0):
            _libcrypto.release("X509_free", pointer)

    @property
    def pem(self) -> str:
        """The certificate."""
        return ssl.DER_cert_to_PEM_cert(_libcrypto.der("i2d_X509", self.pointer))

    def _number(self) -> None:
        _libcrypto.call("X509_set_version", self.pointer, _VERSION_3)
        number = (1 << _SERIAL_BITS | secrets.randbits(_SERIAL_BITS)).to_bytes(_SERIAL_BITS // 8 + 1)
        big = _libcrypto.call("BN_bin2bn", number, len(number), None)
        try:
            _libcrypto.call("BN_to_ASN1_INTEGER", big, _libcrypto.call("X509_get_serialNumber", self.pointer))
        finally:
            _libcrypto.release("BN_free", big)

    def _date(self, begin: int, end: int) -> None:
        _libcrypto.call("X509_gmtime_adj", _libcrypto.call("X509_getm_notBefore", self.pointer), begin)
        _libcrypto.call("X509_gmtime_adj", _libcrypto.call("X509_getm_notAfter", self.pointer), end)

    def _extend(self, name: str, value: str, issuer: "SignedCertificate") -> None:
        context = ctypes.create_string_buffer(_EXTENSION_CONTEXT)
        _libcrypto.release("X509V3_set_ctx", context, issuer.pointer, self.pointer, None, None, 0)
        extension = _libcrypto.call("X509V3_EXT_nconf", None, context, name.encode(), value.encode())
        try:
            _libcrypto.call("X509_add_ext", self.pointer, extension, -1)
        finally:
            _libcrypto.release("X509_EXTENSION_free", extension)
