"""Authentication: a section of `settings`. Standard library only, because boot imports it."""

import re
from dataclasses import dataclass
from typing import Literal

from sandbox_server.settings.kinds import HTTP_URL, OPTIONAL_PATH, PUBLIC_KEY, SECRET, TEXT, Kind, Secret, choice, seconds, variable


def _domain(text: str) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*(:[0-9]{1,5})?", text):
        raise ValueError("must be a host name, with a port where it is not the gateway's own: preview.example.org")
    return text


def _name(text: str) -> str:
    if not re.fullmatch(r"(\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}", text) or text.endswith((".", "-")):
        raise ValueError(f"must be host names without ports, as in box.example.org *.lab.example.org: {text!r} is none")
    return text.lower()


def _profiles(text: str) -> tuple[str, ...] | None:
    words = tuple(text.replace(",", " ").split())
    for word in words:
        if not re.fullmatch(r"[a-z0-9_*?-]{1,63}", word):
            raise ValueError(f"must be names of profiles, in which '*' and '?' are wildcards: {word!r} is none")
    return words


def _origin(text: str) -> str:
    """Check one origin, in the form in which browsers send it."""
    found = re.fullmatch(r"(https?)://([a-z0-9_][a-z0-9_.-]{0,252}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?", text.lower())
    if found is None or found[2].endswith((".", "-")):
        raise ValueError(f"must be origins, as in https://app.example.org, without paths, '*' or 'null': {text!r} is none")
    return found[0].removesuffix(":443" if found[1] == "https" else ":80")


PROFILES: Kind[tuple[str, ...] | None] = Kind("names", _profiles)
NAMES: Kind[tuple[str, ...]] = Kind("host names", lambda text: tuple(map(_name, text.replace(",", " ").split())))
ORIGINS: Kind[tuple[str, ...]] = Kind("origins", lambda text: tuple(map(_origin, text.replace(",", " ").split())))


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Sign-in"""

    mode: Literal["on", "off"] = variable(
        "AUTH",
        choice("on", "off"),
        "on",
        "`off` serves everything to everyone who reaches the port.",
    )
    api_key: Secret | None = variable(
        "SANDBOX_API_KEY",
        SECRET,
        None,
        "The owner's key: everything. No agent gets it. With neither it nor a JWT key, boot makes one.",
    )
    agent_key: Secret | None = variable(
        "SANDBOX_AGENT_KEY",
        SECRET,
        None,
        "The key for your agent: everything but `admin`, and nothing that is left to people. Without it, boot makes one.",
    )
    jwt_public_key: Secret | None = variable(
        "JWT_PUBLIC_KEY",
        PUBLIC_KEY,
        None,
        "Base64 of a PEM public key (RSA, EC or Ed25519). Tokens that it signed are accepted.",
    )
    jwks_url: str | None = variable("JWT_JWKS_URL", HTTP_URL, None, "Where to fetch a JWKS. The token's `kid` chooses the key.")
    jwks_file: str | None = variable("JWT_JWKS_FILE", OPTIONAL_PATH, None, "A JWKS in a file, read again when it changes.")
    agent_profiles: tuple[str, ...] | None = variable(
        "AGENT_PROFILES",
        PROFILES,
        None,
        "Browser profiles that the token inside the box and the keys of agents may use, as patterns: `default work-*`. Unset: all.",
    )
    audience: str | None = variable("JWT_AUDIENCE", TEXT, None, "Required `aud` of a token.")
    issuer: str | None = variable("JWT_ISSUER", TEXT, None, "Required `iss` of a token.")
    ticket_ttl: float = variable(
        "TICKET_TTL_SECONDS",
        seconds(1, 86400),
        30.0,
        "How long a ticket from `POST /tickets` can be redeemed.",
    )
    session_ttl: float = variable(
        "SESSION_TTL_SECONDS",
        seconds(60, 31536000),
        43200.0,
        "How long a browser stays signed in. A session never outlives the token behind it.",
    )
    preview_domain: str | None = variable(
        "PREVIEW_DOMAIN",
        Kind("host name", _domain),
        None,
        "A browser sees port 3000 at `3000-` plus this name, which must lead here. Unset: `preview.localhost`, on loopback only.",
    )
    hosts: tuple[str, ...] = variable(
        "ALLOWED_HOSTS",
        NAMES,
        (),
        "Names that it answers to with `AUTH=off`, besides IP addresses, `localhost` and its host name. `*.example.org`: all below.",
    )
    origins: tuple[str, ...] = variable(
        "ALLOWED_ORIGINS",
        ORIGINS,
        (),
        "Origins of other sites whose pages may frame ours and call the API from a browser, with a credential of their own.",
    )

    def __post_init__(self) -> None:
        """Raise ValueError if an agent would be the owner."""
        if self.agent_key and self.api_key and self.agent_key.reveal() == self.api_key.reveal():
            raise ValueError("SANDBOX_AGENT_KEY is the same as SANDBOX_API_KEY: the agent would have the owner's key")
