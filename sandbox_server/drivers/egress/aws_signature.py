"""AWS Signature Version 4: a request that a program signed with the placeholder is signed again with the value.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from sandbox_server.drivers.egress.secret_injection import Fields, InjectionRefused

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
STREAMED = "STREAMING-AWS4-HMAC-SHA256"
"""How the payload hash begins where each chunk of a body has a signature of its own."""
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=(?P<key>[^,/ ]{1,200})/(?P<scope>\d{8}/[a-z0-9-]{1,60}/[a-z0-9-]{1,60}/aws4_request), *"
    r"SignedHeaders=(?P<headers>[a-z0-9;_-]{1,2000}), *Signature=(?P<signature>[0-9a-f]{64})"
)
_BLANKS = re.compile(r" +")
_UNRESERVED = "-._~"


@dataclass(frozen=True, slots=True)
class AwsAuthorization:
    """What the field Authorization says of a signature."""

    key: str
    scope: str
    headers: tuple[str, ...]
    signature: str

    @property
    def service(self) -> str:
        """The service, such as s3."""
        return self.scope.split("/")[2]

    def text(self, signature: str) -> bytes:
        """Return the field's value with another signature."""
        return f"{ALGORITHM} Credential={self.key}/{self.scope}, SignedHeaders={';'.join(self.headers)}, Signature={signature}".encode()


def authorization(fields: Fields) -> AwsAuthorization | None:
    """Return the signature of a request; None if it has none of this kind."""
    found = [value.decode("latin-1") for name, value in fields if name.lower() == b"authorization"]
    match = _AUTHORIZATION.fullmatch(found[0].strip()) if len(found) == 1 else None
    return AwsAuthorization(match["key"], match["scope"], tuple(match["headers"].split(";")), match["signature"]) if match else None


def payload_hash(fields: Fields) -> str | None:
    """Return the hash that a request says its body has; None if it says none. Raises InjectionRefused for signed chunks."""
    said = _values(fields, "x-amz-content-sha256")
    if said and said[0].startswith(STREAMED):
        raise InjectionRefused("chunks that are signed one by one cannot be signed again; configure the client to send an unsigned payload")
    return said[0] if said else None


def sign(secret: str, method: str, target: bytes, fields: Fields, signed: AwsAuthorization, body_hash: str) -> str:
    """Return the signature of a request."""
    canonical = _canonical_request(method, target, fields, signed, body_hash)
    date = next(iter(_values(fields, "x-amz-date")), "")
    to_sign = "\n".join((ALGORITHM, date, signed.scope, hashlib.sha256(canonical).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in signed.scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


def signed_with(secret: str, method: str, target: bytes, fields: Fields, signed: AwsAuthorization, body_hash: str) -> bool:
    """Whether a request's signature was made with a secret."""
    return hmac.compare_digest(sign(secret, method, target, fields, signed, body_hash), signed.signature)


def _canonical_request(method: str, target: bytes, fields: Fields, signed: AwsAuthorization, body_hash: str) -> bytes:
    path, _, query = target.decode("latin-1").partition("?")
    headers = [f"{name}:{','.join(_BLANKS.sub(' ', value.strip()) for value in _values(fields, name))}\n" for name in signed.headers]
    lines = (method, _canonical_path(path, signed.service), _canonical_query(query), "".join(headers), ";".join(signed.headers), body_hash)
    return "\n".join(lines).encode("latin-1")


def _canonical_path(path: str, service: str) -> str:
    """Return the path: encoded once for S3, and once more for all other services."""
    return (path if service.startswith("s3") else quote(path, safe=f"/{_UNRESERVED}")) or "/"


def _canonical_query(query: str) -> str:
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return "&".join(f"{name}={value}" for name, value in sorted((_encoded(name), _encoded(value)) for name, _, value in pairs))


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text), safe=_UNRESERVED)


def _values(fields: Fields, name: str) -> Sequence[str]:
    return [value.decode("latin-1") for field, value in fields if field.lower().decode("latin-1") == name]


def with_signature(fields: Fields, signed: AwsAuthorization, signature: str) -> Fields:
    """Return fields with another signature."""
    return [(name, signed.text(signature) if name.lower() == b"authorization" else value) for name, value in fields]
