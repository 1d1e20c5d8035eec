"""Stand-ins for what verifies the sandbox's tokens outside: the token services of two clouds, and a git server over https.

None is a cloud's own program. Each verifies a token as those do: by the keys that the issuer publishes through the gateway.
"""

import base64
import json
import os
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs

import jwt

from tests.certificates import certificate

HOST = os.environ.get("TANDEM_RUN", "localhost")
"""The name by which containers of this run reach the tests."""
WAIT = 30.0


def verified(token: str, jwks_url: str, audience: str, issuer: str) -> dict[str, Any]:
    """The claims of a token, as a verifier reads them that fetches the keys."""
    key = jwt.PyJWKClient(jwks_url, timeout=WAIT).get_signing_key_from_jwt(token)
    required = ["iss", "sub", "aud", "exp", "iat", "nbf", "jti"]
    options: Any = {"require": required}
    return dict(jwt.decode(token, key.key, algorithms=["RS256"], audience=audience, issuer=issuer, options=options))


class VerifyingServer:
    """A server that remembers the claims of every token that it was given; over https with a folder for its certificate."""

    def __init__(self, issuer: str, folder: Path | None = None) -> None:
        self.issuer = issuer
        self.jwks_url = f"{issuer}/.well-known/jwks.json"
        self.seen: list[dict[str, Any]] = []
        self.refused = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(*server.get(self.path, self.headers.get("Authorization")))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = json.loads(body) if body.startswith("{") else {name: values[0] for name, values in parse_qs(body).items()}
                self.answer(*server.post(form))

            def answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if status == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
        self.port = self._server.server_port
        if folder:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate(folder, HOST))
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def admits(self, token: str, audience: str) -> bool:
        """Whether a token verifies; its claims are remembered."""
        try:
            self.seen.append(verified(token, self.jwks_url, audience, self.issuer))
        except jwt.PyJWTError:
            self.refused += 1
            return False
        return True

    def get(self, path: str, authorization: str | None) -> tuple[int, str, bytes]:
        """Answer a GET."""
        return 404, "text/plain", b""

    def post(self, form: dict[str, str]) -> tuple[int, str, bytes]:
        """Answer a form."""
        return 404, "text/plain", b""


class AwsTokenService(VerifyingServer):
    """AssumeRoleWithWebIdentity of AWS STS."""

    def post(self, form: dict[str, str]) -> tuple[int, str, bytes]:
        """Give credentials for a token that verifies."""
        if form.get("Action") != "AssumeRoleWithWebIdentity" or not self.admits(form["WebIdentityToken"], "sts.amazonaws.com"):
            return 400, "text/xml", b"<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>"
        body = (
            '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>'
            "<Credentials><AccessKeyId>AKIDEXAMPLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>"
            "<SessionToken>session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>"
            f"<AssumedRoleUser><Arn>{form['RoleArn']}</Arn><AssumedRoleId>a:{form['RoleSessionName']}</AssumedRoleId></AssumedRoleUser>"
            "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
        )
        return 200, "text/xml", body.encode()


class GoogleTokenService(VerifyingServer):
    """The exchange of Google Cloud STS."""

    def post(self, form: dict[str, str]) -> tuple[int, str, bytes]:
        """Give an access token for a token that verifies."""
        if not self.admits(form["subject_token"], f"https:{form['audience']}"):
            return 400, "application/json", b'{"error": "invalid_grant"}'
        answer = {"access_token": "ya29", "issued_token_type": "x", "token_type": "Bearer", "expires_in": 3600}
        return 200, "application/json", json.dumps(answer).encode()


class VaultLogin(VerifyingServer):
    """The login of Vault's method `jwt`."""

    def post(self, form: dict[str, str]) -> tuple[int, str, bytes]:
        """Sign in with a token that verifies."""
        if not self.admits(form["jwt"], "vault"):
            return 400, "application/json", b'{"errors": ["error validating token"]}'
        auth = {"client_token": "hvs", "policies": ["default", "build"], "metadata": {"role": form["role"]}, "lease_duration": 600}
        return 200, "application/json", json.dumps({"auth": auth}).encode()


class GitServer(VerifyingServer):
    """A repository over git's plain protocol of files, for whoever has a token for this host as the password."""

    def __init__(self, issuer: str, folder: Path) -> None:
        super().__init__(issuer, folder)
        self._repository = folder / "repository.git"
        self.host = f"{HOST}:{self.port}"
        work = folder / "work"
        named = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        for command in (
            ("init", "-q", "-b", "main", str(work)),
            (*named, "-C", str(work), "commit", "-q", "--allow-empty", "-m", "first"),
            ("clone", "-q", "--bare", str(work), str(self._repository)),
            ("-C", str(self._repository), "update-server-info"),
        ):
            subprocess.run(["git", *command], check=True, timeout=60)

    def get(self, path: str, authorization: str | None) -> tuple[int, str, bytes]:
        """Give a file of the repository."""
        if not authorization or not authorization.startswith("Basic "):
            return 401, "text/plain", b""
        password = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")[2]
        if not self.admits(password, f"https://{self.host}"):
            return 401, "text/plain", b""
        file = self._repository / path.partition("?")[0].removeprefix("/repository.git/")
        if ".." in path or not file.is_file():
            return 404, "text/plain", b""
        return 200, "application/octet-stream", file.read_bytes()
