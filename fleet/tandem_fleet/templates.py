"""Templates: what sandboxes are made of, under a name. Each change of the content is a version of its own."""

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tandem_fleet.errors import InvalidError
from tandem_fleet.sandboxes import NAME, Spec, check_spec
from tandem_fleet.store.templates import SHARED, StoredTemplate, TemplateStore

EGRESS_VARIABLE = "EGRESS_POLICY"
EGRESS_BYTES = 65_536
"""Longest network policy: a variable of a container has room for no more than twice of it."""
MOST = 1000
"""Templates of one tenant."""


class PoolSize(BaseModel):
    """How many sandboxes wait for who asks for one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min: int = Field(default=1, ge=0, le=1000)
    max: int = Field(default=1, ge=1, le=1000)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError("min is over max")
        return self


class TemplateContent(Spec):
    """What a template says."""

    egress: dict[str, Any] | None = Field(default=None, description="The network policy at the start (docs/egress.md).")
    pool: PoolSize | None = Field(default=None, description="How many wait, started, for who asks for one. Without it none does.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.template:
            raise ValueError("a template stands on no other template")
        if self.egress is not None and EGRESS_VARIABLE in self.environment:
            raise ValueError(f"the network policy is given as egress and as {EGRESS_VARIABLE}")
        return self

    def spec(self) -> dict[str, Any]:
        """The fields of a sandbox that is made of it and nothing else."""
        fields = self.model_dump(exclude={"egress", "pool", "template"})
        if self.egress is not None:
            fields["environment"][EGRESS_VARIABLE] = json.dumps(self.egress)
        return fields


def check_egress(policy: dict[str, Any]) -> None:
    """Refuse what is too long for a variable. Raises `InvalidError`."""
    if len(json.dumps(policy)) > EGRESS_BYTES:
        raise InvalidError(f"the network policy is over {EGRESS_BYTES} bytes")


class Template(BaseModel):
    """A version of a template."""

    name: str
    version: int
    shared: bool = Field(description="Whether every tenant may use it.")
    content: TemplateContent
    created_at: datetime

    @classmethod
    def of(cls, stored: StoredTemplate) -> Self:
        """As it was kept."""
        return cls(
            name=stored.name,
            version=stored.version,
            shared=stored.tenant == SHARED,
            content=TemplateContent.model_validate(stored.content),
            created_at=stored.created_at,
        )

    @property
    def reference(self) -> str:
        """The name that means this version for good."""
        return f"{self.name}@{self.version}"


class Templates:
    """The templates of all tenants."""

    def __init__(self, store: TemplateStore) -> None:
        self._store = store
        self.listeners: list[Callable[[], None]] = []
        """Called after a change."""

    async def put(self, tenant: str, name: str, content: TemplateContent) -> Template:
        """Keep a template; the same content as before makes no version. A tenant of `SHARED` makes it everybody's."""
        if not re.fullmatch(NAME, name):
            raise InvalidError("a template's name takes lower-case letters, digits and hyphens, 40 at most")
        check_spec(content)
        if content.egress is not None:
            check_egress(content.egress)
        made = await self._store.put(tenant, name, content.model_dump(mode="json"), most=MOST)
        self._tell()
        return Template.of(made)

    async def find(self, tenant: str, reference: str) -> Template:
        """A template by its name, or a version by `name@version`: the tenant's own before a shared one. Raises `NotFoundError`."""
        name, at, version = reference.partition("@")
        if at and not re.fullmatch(r"[1-9][0-9]{0,8}", version):
            raise InvalidError(f"{reference!r} names no version: name@3 does")
        return Template.of(await self._store.find(tenant, name, int(version) if at else None))

    async def page(self, tenant: str, after: int, limit: int) -> list[tuple[int, Template]]:
        """The newest version of each that the tenant may use, with the number behind which the next page begins."""
        return [(number, Template.of(stored)) for number, stored in await self._store.page(tenant, after, limit)]

    async def remove(self, tenant: str, name: str) -> None:
        """Forget a template with its versions. Sandboxes that were made of it stay. Raises `NotFoundError`."""
        await self._store.remove(tenant, name)
        self._tell()

    def _tell(self) -> None:
        for listener in self.listeners:
            listener()

    async def fill(self, tenant: str, asked: Spec) -> tuple[Spec, Template]:
        """What a sandbox is made of, for which a template was named: what was asked for besides goes before what the template says."""
        template = await self.find(tenant, asked.template)
        base = template.content.spec()
        given = asked.model_dump(include=asked.model_fields_set)
        both = {name: base[name] | given.get(name, {}) for name in ("environment", "labels")}
        try:
            return Spec.model_validate(base | given | both | {"template": template.reference}), template
        except ValidationError as error:
            raise InvalidError(f"template and request do not fit together: {error.errors()[0]['msg']}") from error
