"""The variables of bound secrets, a section of `settings`, and the placeholders of those declared. Stdlib only, for the sake of boot."""

import hmac
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_server.settings.kinds import HTTP_URL, SECRET, TEXT, Kind, Secret, seconds, variable

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
PLACEHOLDER = re.compile(r"[A-Za-z0-9_-]{12,256}")


def placeholder_of(name: str, key: str) -> str:
    """Return the placeholder of a secret by the container's key, so that files with it stay right after a restart and a restore."""
    return f"tandem_{name}_{hmac.digest(key.encode(), name.encode(), 'sha256').hex()[:32]}"


def _read_declarations(text: str) -> Secret:
    if text.startswith("/") and "\0" not in text:
        return Secret(text)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(NAME.fullmatch(name) and isinstance(each, dict) for name, each in found.items()):
        raise ValueError("must be a JSON object of secrets by name, or the absolute path of a file that holds one")
    return Secret(text)


DECLARATIONS: Kind[Secret | None] = Kind("JSON or path", _read_declarations, secret=True)


@dataclass(frozen=True, slots=True)
class SecretsSettings:
    """Secrets that the agent never holds"""

    declarations: Secret | None = variable(
        "SECRETS",
        DECLARATIONS,
        None,
        "Secrets by name, each with its source and what it is bound to: a JSON object, or the path of a file with one, as in "
        "[secrets.md](secrets.md).",
    )
    cache: float = variable(
        "SECRETS_CACHE_SECONDS",
        seconds(1, 86400),
        300.0,
        "How long a value from Vault, 1Password or AWS is used before it is fetched again.",
    )
    vault_address: str | None = variable("SECRETS_VAULT_ADDR", HTTP_URL, None, "Vault, for secrets with the source `vault`.")
    vault_token: Secret | None = variable("SECRETS_VAULT_TOKEN", SECRET, None, "The token for it.")
    vault_namespace: str | None = variable("SECRETS_VAULT_NAMESPACE", TEXT, None, "The namespace there, if it has any.")
    onepassword_address: str | None = variable(
        "SECRETS_ONEPASSWORD_URL", HTTP_URL, None, "1Password Connect, for secrets with the source `onepassword`."
    )
    onepassword_token: Secret | None = variable("SECRETS_ONEPASSWORD_TOKEN", SECRET, None, "The token for it.")
    aws_region: str | None = variable("SECRETS_AWS_REGION", TEXT, None, "Region of AWS Secrets Manager, for the source `aws`.")
    aws_endpoint: str | None = variable("SECRETS_AWS_ENDPOINT", HTTP_URL, None, "Its address, where it is not AWS's own.")
    aws_key: Secret | None = variable("SECRETS_AWS_ACCESS_KEY_ID", SECRET, None, "The access key for it.")
    aws_secret: Secret | None = variable("SECRETS_AWS_SECRET_ACCESS_KEY", SECRET, None, "The secret access key for it.")
    aws_session: Secret | None = variable("SECRETS_AWS_SESSION_TOKEN", SECRET, None, "The session token for it, if the key is temporary.")

    @property
    def declared(self) -> Mapping[str, Mapping[str, Any]]:
        """The secrets by name. Boot has put the content of a file in the place of its path."""
        text = self.declarations.reveal() if self.declarations else "{}"
        found: Mapping[str, Mapping[str, Any]] = json.loads(text) if text.startswith("{") else {}
        return found

    @property
    def hidden(self) -> frozenset[str]:
        """The variables of the container that hold a value, which the agent does not get."""
        return frozenset(_sources(self.declared))

    def placeholders(self, key: str) -> dict[str, str]:
        """Return what the agent's programs get: variables, and the placeholders in them, by the container's key."""
        return {
            str(each["variable"]): str(each.get("placeholder") or placeholder_of(name, key))
            for name, each in self.declared.items()
            if each.get("variable")
        }


def _sources(declared: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for each in declared.values():
        source = each.get("source")
        if isinstance(source, dict) and isinstance(source.get("env"), str):
            yield source["env"]
