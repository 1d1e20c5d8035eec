"""Operations on webhooks."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.webhooks import Webhook

Administrator = Annotated[Caller, Depends(needs(Scope.ADMIN))]


class WebhookRequest(BaseModel):
    """Where events shall be sent."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=8, max_length=2048)
    types: list[str] = Field(default_factory=list, max_length=32, description="Events, as sandbox.ready; without any, all.")


class WebhookStatus(BaseModel):
    """Where events are sent, and how that goes."""

    id: str
    url: str
    types: list[str]
    created_at: datetime
    disabled: bool = Field(description="Whether it failed for so long that nothing is sent any more.")
    attempts: int = Field(description="Failures in a row.")
    failing_since: datetime | None
    next_at: datetime | None
    reason: str

    @classmethod
    def of(cls, webhook: Webhook) -> "WebhookStatus":
        """Without its secret."""
        return cls(**_shown(webhook))  # type: ignore[arg-type] # by name


class MadeWebhook(WebhookStatus):
    """A new one, with the secret that signs what is sent: it is not shown again."""

    secret: str

    @classmethod
    def of(cls, webhook: Webhook) -> "MadeWebhook":
        """With its secret."""
        return cls(secret=webhook.secret, **_shown(webhook))  # type: ignore[arg-type] # by name


class WebhookList(BaseModel):
    """All of a tenant."""

    webhooks: list[WebhookStatus]


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.post("/v1/webhooks", status_code=201)
    async def add_webhook(caller: Administrator, request: WebhookRequest) -> MadeWebhook:
        """Send what becomes of sandboxes to a URL, from now on, as Standard Webhooks. Private addresses are refused."""
        return MadeWebhook.of(await fleet.webhooks.add(caller.tenant, request.url, request.types))

    @routes.get("/v1/webhooks")
    async def list_webhooks(caller: Administrator) -> WebhookList:
        """Where events are sent."""
        return WebhookList(webhooks=[WebhookStatus.of(one) for one in await fleet.webhooks.of(caller.tenant)])

    @routes.post("/v1/webhooks/{webhook}/enable")
    async def enable_webhook(caller: Administrator, webhook: str) -> WebhookStatus:
        """Begin again with one that failed, from now on."""
        return WebhookStatus.of(await fleet.webhooks.enable(caller.tenant, webhook))

    @routes.delete("/v1/webhooks/{webhook}", status_code=204)
    async def remove_webhook(caller: Administrator, webhook: str) -> None:
        """Send nothing there any more."""
        await fleet.webhooks.remove(caller.tenant, webhook)

    return routes


def _shown(webhook: Webhook) -> dict[str, object]:
    names = ("id", "url", "created_at", "disabled", "attempts", "failing_since", "next_at", "reason")
    return {name: getattr(webhook, name) for name in names} | {"types": list(webhook.types)}
