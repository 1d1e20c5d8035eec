"""A flow that is relayed, and what events say of it."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from sandbox_server.drivers.egress.http_head import RequestHead
from sandbox_server.drivers.egress.policy import UNREACHABLE_RULE, Destination, EgressAction, EgressDecision, HttpRequest
from sandbox_server.drivers.egress.protected_addresses import Address, protection
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.egress.dialer import DialFailed, DialRefused
from sandbox_server.egress.refusals import FlowRefused


class RelayedFlow(Protocol):
    """What carries the bytes of a flow."""

    @property
    def sent(self) -> int:
        """Bytes that went to the server."""

    @property
    def received(self) -> int:
        """Bytes that came from the server."""

    @property
    def moved_at(self) -> float:
        """When bytes last moved, by the loop's clock."""

    def cut(self, reason: str) -> None:
        """End the flow now."""


@dataclass
class OpenFlow:
    """A flow that is relayed: what it is judged by again when the policy changes."""

    identity: int
    destination: Destination
    address: Address
    decision: EgressDecision
    spliced: RelayedFlow
    owner: SocketOwner | None = None
    approved: str = ""
    """The rule that asked, if somebody allowed the flow, or its last request."""
    request: HttpRequest | None = None
    """The last request, where requests are read."""
    begun: float = 0.0
    """When it began, by the loop's clock."""

    def allowed_by(self, decision: EgressDecision) -> bool:
        """Whether a decision lets the flow go on, by itself or because its question was answered."""
        return decision.allowed or (decision.action is EgressAction.ASK and decision.rule == self.approved)

    @property
    def private(self) -> bool:
        """Whether it may be told to one person alone."""
        return self.owner is not None and self.owner.private is not None

    def describe(self) -> dict[str, object]:
        """The flow, for events and lists."""
        return {
            "id": self.identity,
            **told_of(self.destination, self.owner, self.request),
            "address": str(self.address),
            "rule": self.decision.rule,
            "learned": self.decision.learned,
            "sent": self.spliced.sent,
            "received": self.spliced.received,
        }


def request_of(head: RequestHead | None) -> HttpRequest | None:
    """The request that a head asks for; None without one."""
    return request_in(head) if head else None


def request_in(head: RequestHead) -> HttpRequest:
    """The request that a head asks for."""
    has_body = bool(head.transfer_encodings) or any(length != "0" for length in head.lengths)
    return HttpRequest(head.method, head.path, has_body, head.overrides, head.websocket, head.hosts[0])


def told_of(destination: Destination, owner: SocketOwner | None, request: HttpRequest | None) -> dict[str, object]:
    """What events say of every connection."""
    return {
        "destination": str(destination),
        "host": destination.name or str(destination.address or ""),
        "port": destination.port,
        "protocol": destination.protocol.value,
        "uid": owner.uid if owner else None,
        "inode": owner.inode if owner else 0,
        "request": str(request) if request else "",
        **({"private": owner.private} if owner and owner.private is not None else {}),
    }


def undialled(destination: Destination, error: DialRefused | DialFailed) -> FlowRefused:
    """Return what is told of a destination that was not connected to: not where it is, which names a host of an internal network."""
    if isinstance(error, DialFailed):
        return FlowRefused(f"{destination}: {error}", UNREACHABLE_RULE, "502 Bad Gateway")
    found, rule = protection(error.address), error.decision.rule
    kind = found.kind if found else "an address"
    return FlowRefused(f"{destination} {'resolves to' if destination.name else 'is'} {kind}, which is not allowed ({rule})", rule)


def refusal_of(destination: Destination, request: HttpRequest | None, decision: EgressDecision) -> FlowRefused:
    """The refusal of a connection, or of a request, by a decision."""
    if decision.inspect:
        why = "its rule compares requests, which cannot be read here"
    elif decision.problem:
        why = f"{request} has two readings: {decision.problem}"
    else:
        why = f"{request} is not allowed" if request else f"{destination.protocol.value} is not allowed"
    return FlowRefused(f"{destination}: {why} ({decision.rule})", decision.rule)


def reason_of(cancelled: asyncio.CancelledError) -> str:
    """Why a flow ends whose task is told to end."""
    return " ".join(map(str, cancelled.args)) or "the egress process ends"
