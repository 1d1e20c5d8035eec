"""Secrets as operations: define, list and remove. No operation returns a value."""

from typing import Annotated, Any

from pydantic import Field, SecretStr

from sandbox_server.core import Model, operation
from sandbox_server.drivers.egress.bound_secrets import MAX_VALUE
from sandbox_server.drivers.secrets.definition import SecretDefinition, binding_document
from sandbox_server.features.secrets.registry import SecretRegistry

type Texts = Annotated[list[Annotated[str, Field(min_length=1, max_length=1024)]], Field(max_length=64)]


class SecretRequestBinding(Model):
    hosts: Texts
    """Names, each with a port or without (443); `*.example.com` for all names below it, and none that anybody may register."""
    methods: Texts = Field(default_factory=list)
    """Methods of requests that may carry it; empty: any."""
    paths: Texts = Field(default_factory=list)
    """Globs of paths that may carry it; empty: any."""
    places: Texts = Field(default_factory=list)
    """Where the placeholder is replaced: `header:X-Api-Key`, `basic`, `query`, `query:key`, `path`, `json`, `json:/pointer`,
    `form`, `form:name` or `sigv4`. Empty: `header:Authorization` and `basic`.
    """
    browser: bool = False
    """Whether pages of the host itself may get it in their requests too, besides the agent's programs."""


class SecretRef(Model):
    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Letters, digits and `_`, a letter first."""


class PutSecret(SecretRef):
    value: Annotated[SecretStr, Field(max_length=MAX_VALUE)] | None = None
    """The value. It is never returned. Without it, one that was put before is kept, if nobody new could get it."""
    source: dict[str, Any] | None = None
    """Where else the value comes from: `{"vault": {...}}`, `{"onepassword": {...}}` or `{"aws": {...}}`."""
    bindings: Annotated[list[SecretRequestBinding], Field(max_length=16)] = Field(default_factory=list)
    """The requests that it is put into."""
    variable: str = ""
    """The environment variable in which new processes of the agent find the placeholder."""
    placeholder: str = ""
    """The placeholder, where programs want a form of their own: 12 to 256 letters, digits, `_` and `-`."""
    fill: Texts = Field(default_factory=list)
    """Origins of pages, such as `https://example.com`, into whose fields the agent may have it filled."""
    kind: str = "text"
    """`text`, or `totp`: the key of one-time passwords, of which the current code is filled in."""


class ListedSecret(Model):
    name: str
    placeholder: str
    """What programs use in its place."""
    variable: str
    bindings: list[SecretRequestBinding]
    fill: list[str]
    kind: str
    source: str
    """`api`, or the source and the place in it."""
    declared: bool
    """Whether the container's `SECRETS` declares it, so that it cannot be changed here."""
    available: bool
    """Whether its value is here, or comes from a source."""
    last_used: float | None
    """Seconds since the epoch of the last request or page that got it."""


class SecretOperations:
    """The secrets that programs of the agent use without holding them."""

    tag = "secrets"

    def __init__(self, registry: SecretRegistry) -> None:
        self._registry = registry

    @operation("PUT /v1/secrets/{name}", scope="admin", decides=True)
    async def put_secret(self, request: PutSecret) -> ListedSecret:
        """Define a secret that the agent never holds, or replace one.

        Programs use its placeholder. In requests to the hosts that it is bound to, the value takes the placeholder's
        place outside of the box. The value is held in memory, and no operation returns it. To give one to more hosts, paths,
        places or pages than before, give it again: without it, the answer is 400.
        """
        document = request.model_dump(exclude={"name", "value"}, exclude_none=True)
        value = request.value.get_secret_value() if request.value else None
        definition = await self._registry.put(request.name, document, value)
        return _listed(definition, available=True, last_used=None)

    @operation("GET /v1/secrets", scope="admin")
    async def list_secrets(self) -> list[ListedSecret]:
        """List the secrets: names, bindings and placeholders, never values."""
        return [_listed(each, available=has, last_used=used) for each, has, used in self._registry.listed()]

    @operation("DELETE /v1/secrets/{name}", scope="admin", decides=True, destructive=True)
    async def delete_secret(self, request: SecretRef) -> None:
        """Forget a secret. Its placeholder is not replaced any more from the next request on."""
        await self._registry.remove(request.name)


def _listed(definition: SecretDefinition, *, available: bool, last_used: float | None) -> ListedSecret:
    return ListedSecret(
        name=definition.name,
        placeholder=definition.placeholder,
        variable=definition.variable,
        bindings=[SecretRequestBinding(**binding_document(each)) for each in definition.bindings],
        fill=list(definition.fill),
        kind=definition.kind.value,
        source=str(definition.source),
        declared=definition.declared,
        available=available,
        last_used=last_used,
    )
