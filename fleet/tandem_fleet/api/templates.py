"""Operations on templates."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.api.messages import LARGEST
from tandem_fleet.errors import ForbiddenError
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.templates import SHARED
from tandem_fleet.templates import Template, TemplateContent

Reader = Annotated[Caller, Depends(needs(Scope.READ))]
Writer = Annotated[Caller, Depends(needs(Scope.WRITE))]
Shared = Annotated[bool, Query(description="Every tenant's: for who operates the fleet.")]


class TemplateRequest(TemplateContent):
    """A template to keep. Without an image it gets the fleet's."""

    image: str | None = Field(default=None, min_length=1, max_length=512)  # type: ignore[assignment] # as it is sent

    def content(self, image: str) -> TemplateContent:
        """What is kept."""
        return TemplateContent.model_validate(self.model_dump() | {"image": self.image or image})


class TemplatePage(BaseModel):
    """A part of a list."""

    templates: list[Template]
    next_cursor: int | None = None


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/v1/templates")
    async def list_templates(
        caller: Reader, cursor: Annotated[int, Query(ge=0, le=LARGEST)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> TemplatePage:
        """The newest version of each template. Go on with `next_cursor` until it is null."""
        page = await fleet.templates.page(caller.tenant, cursor, limit)
        return TemplatePage(templates=[template for _, template in page], next_cursor=page[-1][0] if len(page) == limit else None)

    @routes.get("/v1/templates/{template}")
    async def get_template(caller: Reader, template: str) -> Template:
        """One template: `name`, or a version of it as `name@3`."""
        return await fleet.templates.find(caller.tenant, template)

    @routes.put("/v1/templates/{template}")
    async def put_template(caller: Writer, template: str, request: TemplateRequest, shared: Shared = False) -> Template:
        """Keep a template. The same content as before makes no version."""
        return await fleet.templates.put(_owner(caller, shared), template, request.content(fleet.image))

    @routes.delete("/v1/templates/{template}", status_code=204)
    async def remove_template(caller: Writer, template: str, shared: Shared = False) -> None:
        """Forget a template with its versions. Sandboxes that were made of it stay."""
        await fleet.templates.remove(_owner(caller, shared), template)

    return routes


def _owner(caller: Caller, shared: bool) -> str:
    if shared and Scope.OPERATE not in caller.scopes:
        raise ForbiddenError(f"a template of all tenants needs a key with the scope {Scope.OPERATE}")
    return SHARED if shared else caller.tenant
