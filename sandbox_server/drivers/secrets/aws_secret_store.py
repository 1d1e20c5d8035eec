"""Values from AWS Secrets Manager.

https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from sandbox_server.drivers.egress.aws_signature import AwsAuthorization, sign
from sandbox_server.drivers.secrets.sources import FetchedValue, ValueUnavailable
from sandbox_server.drivers.secrets.store_http import ask, text_at

SERVICE = "secretsmanager"
TARGET = "secretsmanager.GetSecretValue"


class AwsSecretStore:
    """Fetches values with an access key, whose requests it signs."""

    def __init__(
        self,
        region: str,
        key: str,
        secret: str,
        session: str = "",
        endpoint: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._region = region
        self._key = key
        self._secret = secret
        self._session = session
        self._endpoint = endpoint.rstrip("/") or f"https://{SERVICE}.{region}.amazonaws.com"
        self._clock = clock

    async def fetch(self, place: Mapping[str, str]) -> FetchedValue:
        """Get a secret's text, or one field of it if it is JSON. Raises ValueUnavailable."""
        body = json.dumps({"SecretId": place["secret"]}).encode()
        answer = await ask("POST", f"{self._endpoint}/", self._signed(body), body)
        text = text_at(answer, "SecretString")
        if "field" not in place:
            return FetchedValue(text)
        try:
            return FetchedValue(text_at(json.loads(text), place["field"]))
        except (ValueError, RecursionError):
            raise ValueUnavailable("the secret is not JSON, so it has no fields") from None

    def _signed(self, body: bytes) -> dict[str, str]:
        """Return the headers of a request."""
        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._clock()))
        headers = {
            "content-type": "application/x-amz-json-1.1",
            "host": urlsplit(self._endpoint).netloc,
            "x-amz-date": at,
            **({"x-amz-security-token": self._session} if self._session else {}),
            "x-amz-target": TARGET,
        }
        scope = f"{at[:8]}/{self._region}/{SERVICE}/aws4_request"
        signed = AwsAuthorization(self._key, scope, tuple(headers), "")
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        signature = sign(self._secret, "POST", b"/", fields, signed, hashlib.sha256(body).hexdigest())
        return {**headers, "authorization": signed.text(signature).decode("ascii")}
