"""The policy document in force: read from the egress process, and changed there, each change on the version that its author has seen."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from sandbox_server.core.entity_tags import require_version
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.policy_document import EgressPolicyError
from sandbox_server.features.egress.grants import EgressDestination
from sandbox_server.features.egress.merge_patch import PolicyDocument, wrong

MASK = "***"
"""Stands for a password of an upstream. A document that is put with it keeps the one that is in force."""
EMPTY: PolicyDocument = {"default": "deny"}
"""What the egress process enforces while it has no document."""

type Change = Callable[[PolicyDocument], PolicyDocument]
type Changed = Callable[[str, str, str, int, EgressDestination | None], None]
"""Is told of a change: who, by what, the new ETag, how many connections it cut, and the destination if it is about one."""


class PolicyInForce:
    """Reads and changes the document. Changes come one after the other."""

    def __init__(self, client: EgressClient, changed: Changed = lambda *_: None) -> None:
        self._client = client
        self._changed = changed
        self._changing = asyncio.Lock()

    async def read(self) -> tuple[PolicyDocument, str]:
        """Return the document, with its passwords, and its ETag. Raises Unavailable."""
        document = json.loads((await self._client.ask("document"))["policy"]) or EMPTY
        return document, etag_of(document)

    async def change(
        self, by: str, how: str, change: Change, version: str | None, about: EgressDestination | None = None
    ) -> tuple[PolicyDocument, str, int]:
        """Put in force what `change` makes of the document; returns it with its ETag and how many connections were cut.

        `version` is an `If-Match`. Raises PreconditionRequired without one, PreconditionFailed for another version,
        InvalidFields for what is no policy, and Unavailable.
        """
        async with self._changing:
            document, etag = await self.read()
            require_version(version, etag, "policy")
            made = named(with_passwords(change(named(document)), document))
            cut = await self._put(made)
        etag = etag_of(made)
        self._changed(by, how, etag, cut, about)
        return made, etag, cut

    async def _put(self, document: PolicyDocument) -> int:
        try:
            return int((await self._client.ask("policy", policy=json.dumps(document)))["cut"])
        except EgressPolicyError as error:
            raise wrong(error.errors) from None


def etag_of(document: PolicyDocument) -> str:
    """Return the ETag of a document: a hash of its canonical JSON, in quotes."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f'"{hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def named(document: PolicyDocument) -> PolicyDocument:
    """Return the document with a name for every rule, so that it keeps it wherever the rule moves."""
    rules = document.get("rules")
    if not isinstance(rules, list):
        return document
    used = {rule.get("name") for rule in rules if isinstance(rule, dict) and isinstance(rule.get("name"), str)}
    made = []
    for number, rule in enumerate(rules):
        if isinstance(rule, dict) and "name" not in rule:
            name = next(name for at in range(number, number + len(rules) + 1) if (name := f"rule {at}") not in used)
            used.add(name)
            rule = {"name": name, **rule}
        made.append(rule)
    return {**document, "rules": made}


def without_passwords(document: PolicyDocument) -> PolicyDocument:
    """Return the document as people see it."""
    return _with_upstreams(document, lambda _, url: _masked(url))


def with_passwords(document: PolicyDocument, known: PolicyDocument) -> PolicyDocument:
    """Return the document with the passwords of `known`, where it has a mask for an upstream that is otherwise the same."""
    upstreams = known.get("upstreams")
    kept: Mapping[str, Any] = upstreams if isinstance(upstreams, dict) else {}
    return _with_upstreams(document, lambda name, url: kept[name] if name in kept and _masked(kept[name]) == url else url)


def _with_upstreams(document: PolicyDocument, change: Callable[[str, Any], Any]) -> PolicyDocument:
    upstreams = document.get("upstreams")
    if not isinstance(upstreams, dict):
        return document
    return {**document, "upstreams": {name: change(name, url) for name, url in upstreams.items()}}


def _masked(url: Any) -> Any:
    try:
        parts = urlsplit(url)
        password, credentials = parts.password, parts.netloc.rpartition("@")[0]
    except (ValueError, AttributeError, TypeError):
        return url
    if password is None:
        return url
    user, host = credentials.partition(":")[0], parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{user}:{MASK}@{host}").geturl()
