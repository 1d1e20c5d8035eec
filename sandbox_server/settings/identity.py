"""The sandbox's own identity: a section of `settings`. Standard library only, because boot imports it."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from sandbox_server.settings.kinds import SECRET, TEXT, Kind, Secret, seconds, variable

MIN_TOKEN_SECONDS = 60.0
MAX_TOKEN_SECONDS = 3600.0
AWS_FILE, GCP_FILE, GCP_CONFIGURATION, AZURE_FILE = "aws-token", "gcp-token", "gcp.json", "azure-token"
GIT_HELPER = "/opt/tandem/sandbox_server/git-credential-tandem.sh"
"""The program that git asks for a credential (gitcredentials(7))."""
_SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_AUDIENCE = re.compile(r"[A-Za-z0-9._~:/?#@!$&'()+,;=%-]{1,255}")
_HOST = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}(:[0-9]{1,5})?")
_ROLE = re.compile(r"arn:aws[a-z-]{0,16}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}")
_PROVIDER = re.compile(
    r"//iam\.googleapis\.com/projects/[0-9]{1,20}/locations/[a-z0-9-]{1,32}/workloadIdentityPools/[a-z0-9-]{4,32}/providers/[a-z0-9-]{4,32}"
)
_ACCOUNT = re.compile(r"[a-z0-9-]{1,64}@[a-z0-9-]{1,64}\.iam\.gserviceaccount\.com")
_USERNAME = re.compile(r"[A-Za-z0-9._@+-]{1,64}")
_DOMAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,253}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _issuer(text: str) -> str:
    parts = _url(text, ("https", "http"))
    if parts.query or parts.fragment or parts.username or "?" in text or "#" in text:
        raise ValueError("must be a URL without a query, a fragment or a password")
    return text.rstrip("/")


def _endpoint(text: str) -> str:
    parts = _url(text, ("https", "http"))
    if parts.fragment or parts.username:
        raise ValueError("must be a URL without a fragment or a password")
    return text


def _url(text: str, schemes: tuple[str, ...]) -> SplitResult:
    wrong = ValueError("must be a URL as in https://box.example.org")
    try:
        parts = urlsplit(text)
        fits = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not fits or not text.isascii() or not text.isprintable() or " " in text:
        raise wrong
    return parts


def _trust_domain(text: str) -> str:
    if not _DOMAIN.fullmatch(text):
        raise ValueError("must be a SPIFFE trust domain: lower-case letters, digits, '.', '-' and '_'")
    return text


def _sandbox_id(text: str) -> str:
    if not _SEGMENT.fullmatch(text):
        raise ValueError("must have 1 to 64 letters, digits, '.', '-' and '_', and begin with a letter or a digit")
    return text


def _key_file(text: str) -> str:
    if not text.startswith("/run/") or os.path.normpath(text) != text or text.startswith("/run/sandbox-agent/"):
        raise ValueError("must be a path below /run, such as /run/secrets/identity.pem: the agent's box has a /run of its own")
    return text


def _audiences(text: str) -> tuple[str, ...]:
    words = tuple(text.replace(",", " ").split())
    for word in words:
        if not _AUDIENCE.fullmatch(word.removesuffix("*") or "x"):
            raise ValueError(f"must be audiences, exact or with a '*' at their end: {word!r} is none")
    return words


def _hosts(text: str) -> tuple[str, ...]:
    words = tuple(text.lower().replace(",", " ").split())
    for word in words:
        if not _HOST.fullmatch(word):
            raise ValueError(f"must be host names, each with a port or without: {word!r} is none")
    return words


def _if(fits: object, text: str, what: str) -> str:
    if not fits:
        raise ValueError(f"must be {what}")
    return text


ISSUER: Kind[str | None] = Kind("URL", _issuer)
ENDPOINT: Kind[str | None] = Kind("URL", _endpoint)
TRUST_DOMAIN: Kind[str | None] = Kind("trust domain", _trust_domain)
SANDBOX_ID: Kind[str | None] = Kind("id", _sandbox_id)
KEY_FILE: Kind[str | None] = Kind("path", _key_file)
AUDIENCES: Kind[tuple[str, ...]] = Kind("audiences", _audiences)
AUDIENCE: Kind[str | None] = Kind("audience", lambda text: _if(_AUDIENCE.fullmatch(text), text, "an audience"))
HOSTS: Kind[tuple[str, ...]] = Kind("host names", _hosts)
USERNAME: Kind[str] = Kind("user name", lambda text: _if(_USERNAME.fullmatch(text), text, "a user name"))
ROLE: Kind[str | None] = Kind(
    "ARN", lambda text: _if(_ROLE.fullmatch(text), text, "the ARN of a role, as in arn:aws:iam::123456789012:role/sandbox")
)
PROVIDER: Kind[str | None] = Kind(
    "provider",
    lambda text: _if(
        _PROVIDER.fullmatch(text),
        text,
        "a provider's full name, as in //iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/name",
    ),
)
ACCOUNT: Kind[str | None] = Kind(
    "service account",
    lambda text: _if(_ACCOUNT.fullmatch(text), text, "a service account, as in name@project.iam.gserviceaccount.com"),
)
UUID: Kind[str | None] = Kind("UUID", lambda text: _if(_UUID.fullmatch(text), text, "a UUID"))


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """Identity: signed tokens that say which sandbox this is"""

    issuer: str | None = variable(
        "IDENTITY_ISSUER",
        ISSUER,
        None,
        "Issuer of the sandbox's tokens (`iss`): the https URL at which verifiers reach this sandbox's `/.well-known/`, or yours, "
        "where you publish the keys. Unset: `HANDOFF_LINK_URL`, else `http://localhost` and the port.",
    )
    trust_domain: str | None = variable(
        "IDENTITY_TRUST_DOMAIN", TRUST_DOMAIN, None, "SPIFFE trust domain of the tokens' `sub`. Unset: the issuer's host name."
    )
    sandbox_id: str | None = variable(
        "IDENTITY_SANDBOX_ID", SANDBOX_ID, None, "The sandbox's id in its tokens. Unset: a random one, made at the first start."
    )
    key_file: str | None = variable(
        "IDENTITY_KEY_FILE",
        KEY_FILE,
        None,
        "A PEM file below `/run` with the RSA key that signs, for an issuer that a fleet shares. Further keys in it are only published. "
        "Unset: a key of this container's own. Needs `IDENTITY_ISSUER`.",
    )
    audiences: tuple[str, ...] = variable(
        "IDENTITY_AUDIENCES",
        AUDIENCES,
        (),
        "The only audiences for which programs get tokens, exact or with a `*` at their end. Unset: any.",
    )
    token_seconds: float = variable(
        "IDENTITY_TOKEN_SECONDS", seconds(MIN_TOKEN_SECONDS, MAX_TOKEN_SECONDS), 600.0, "How long a token is valid."
    )
    aws_role: str | None = variable(
        "IDENTITY_AWS_ROLE_ARN",
        ROLE,
        None,
        "AWS role that programs assume: sets `AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_ROLE_ARN` and `AWS_ROLE_SESSION_NAME` for them.",
    )
    aws_audience: str | None = variable("IDENTITY_AWS_AUDIENCE", AUDIENCE, "sts.amazonaws.com", "Audience of the token for AWS.")
    gcp_provider: str | None = variable(
        "IDENTITY_GCP_PROVIDER",
        PROVIDER,
        None,
        "Google Cloud workload identity provider that programs use: sets `GOOGLE_APPLICATION_CREDENTIALS` for them.",
    )
    gcp_service_account: str | None = variable(
        "IDENTITY_GCP_SERVICE_ACCOUNT",
        ACCOUNT,
        None,
        "Google Cloud service account that they act as. Unset: the provider's own principal.",
    )
    azure_client: str | None = variable(
        "IDENTITY_AZURE_CLIENT_ID",
        UUID,
        None,
        "Azure application that programs sign in as: sets `AZURE_FEDERATED_TOKEN_FILE`, `AZURE_CLIENT_ID` and `AZURE_TENANT_ID` for them.",
    )
    azure_tenant: str | None = variable("IDENTITY_AZURE_TENANT_ID", UUID, None, "Its Microsoft Entra tenant.")
    token_endpoint: str | None = variable(
        "IDENTITY_TOKEN_ENDPOINT",
        ENDPOINT,
        None,
        "A token endpoint of yours (RFC 8693) at which the sandbox's token is exchanged for an access token.",
    )
    token_endpoint_audience: str | None = variable(
        "IDENTITY_TOKEN_ENDPOINT_AUDIENCE", AUDIENCE, None, "Audience of the sandbox's token for it. Unset: its URL."
    )
    token_endpoint_client: str | None = variable(
        "IDENTITY_TOKEN_ENDPOINT_CLIENT_ID", TEXT, None, "Client id with which the sandbox signs in there, if it has to."
    )
    token_endpoint_secret: Secret | None = variable("IDENTITY_TOKEN_ENDPOINT_CLIENT_SECRET", SECRET, None, "The client secret for it.")
    git_hosts: tuple[str, ...] = variable(
        "IDENTITY_GIT_HOSTS",
        HOSTS,
        (),
        "Hosts for which git in the box gets a token as its password, over https: `git.example.org`, `git.example.org:8443`.",
    )
    git_username: str = variable("IDENTITY_GIT_USERNAME", USERNAME, "x-access-token", "User name that git sends with it.")

    def __post_init__(self) -> None:
        if self.key_file and not self.issuer:
            raise ValueError("IDENTITY_ISSUER must be set, where IDENTITY_KEY_FILE is")
        if bool(self.azure_client) != bool(self.azure_tenant):
            raise ValueError("IDENTITY_AZURE_CLIENT_ID and IDENTITY_AZURE_TENANT_ID must be set together")
        if self.gcp_service_account and not self.gcp_provider:
            raise ValueError("IDENTITY_GCP_PROVIDER must be set, where IDENTITY_GCP_SERVICE_ACCOUNT is")
        if bool(self.token_endpoint_client) != bool(self.token_endpoint_secret):
            raise ValueError("IDENTITY_TOKEN_ENDPOINT_CLIENT_ID and IDENTITY_TOKEN_ENDPOINT_CLIENT_SECRET must be set together")

    def environment(self, folder: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return what the agent's programs get beside `given`, their environment so far, which stays as it is."""
        found: dict[str, str] = {}
        if self.aws_role:
            found |= {"AWS_WEB_IDENTITY_TOKEN_FILE": f"{folder}/{AWS_FILE}", "AWS_ROLE_ARN": self.aws_role}
            found |= {"AWS_ROLE_SESSION_NAME": self.sandbox_id or "sandbox"}
        if self.gcp_provider:
            found |= {"GOOGLE_APPLICATION_CREDENTIALS": f"{folder}/{GCP_CONFIGURATION}"}
        if self.azure_client and self.azure_tenant:
            found |= {"AZURE_FEDERATED_TOKEN_FILE": f"{folder}/{AZURE_FILE}"}
            found |= {"AZURE_CLIENT_ID": self.azure_client, "AZURE_TENANT_ID": self.azure_tenant}
        kept = {name: value for name, value in found.items() if name not in given}
        return kept | _git_configuration(self.git_hosts, given)


def gcp_configuration(settings: IdentitySettings, folder: str) -> str:
    """Return the external account configuration of Google's libraries (AIP-4117) that reads the token from its file."""
    found: dict[str, object] = {
        "type": "external_account",
        "audience": settings.gcp_provider,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"file": f"{folder}/{GCP_FILE}", "format": {"type": "text"}},
    }
    if account := settings.gcp_service_account:
        url = f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{account}:generateAccessToken"
        found["service_account_impersonation_url"] = url
    return json.dumps(found, indent=1) + "\n"


def _git_configuration(hosts: tuple[str, ...], given: Mapping[str, str]) -> dict[str, str]:
    """Return git's configuration by environment (git(1), GIT_CONFIG_COUNT), behind what `given` has of it."""
    count = given.get("GIT_CONFIG_COUNT", "0")
    first = int(count) if count.isascii() and count.isdigit() and len(count) < 4 else 0
    if not hosts:
        return {}
    found = {"GIT_CONFIG_COUNT": str(first + len(hosts))}
    for number, host in enumerate(hosts, first):
        found |= {f"GIT_CONFIG_KEY_{number}": f"credential.https://{host}.helper", f"GIT_CONFIG_VALUE_{number}": GIT_HELPER}
    return found
