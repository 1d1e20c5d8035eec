"""What becomes of Pods: listed once, then watched from the list's version, and listed again where that is too old."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from tandem_fleet.backends.kubernetes.client import KubernetesClient, Object, Refusal, refusal
from tandem_fleet.errors import EngineUnreachableError

WATCH_SECONDS = 300
"""After this time the API server ends a watch, and the next one goes on where it was."""
SILENCE_SECONDS = WATCH_SECONDS + 30.0
AGAIN_SECONDS = 1.0
"""Between the end of a watch and the next one."""
LONGEST_EVENT = 4 << 20
"""Bytes of an event; an object of a cluster has 1.5 MiB at most."""


@dataclass(frozen=True)
class Change:
    """A Pod as it is now; without `pod` it is gone. `listed`: it is told because it was there, not because it changed.

    One without a name says that all that were there have been told.
    """

    name: str
    pod: Object | None
    listed: bool = False


async def changes(client: KubernetesClient, selector: Mapping[str, str]) -> AsyncGenerator[Change, None]:
    """Every Pod that a selector chooses, then each change, without end. Raises `EngineError` where the cluster does not answer."""
    known: set[str] = set()
    while True:
        pods, version = await client.listed("pods", selector)
        names = {pod["metadata"]["name"] for pod in pods}
        for name in known - names:
            yield Change(name, None)
        for pod in pods:
            yield Change(pod["metadata"]["name"], pod, listed=True)
        yield Change("", None, listed=True)
        known = names
        try:
            while True:
                async with aclosing(_events(client, selector, version)) as events:
                    async for event in events:
                        version = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] == "BOOKMARK":
                            continue
                        name = event["object"]["metadata"]["name"]
                        gone = event["type"] == "DELETED"
                        known = known - {name} if gone else known | {name}
                        yield Change(name, None if gone else event["object"])
                await asyncio.sleep(AGAIN_SECONDS)
        except Refusal as refused:
            if refused.answered != 410:
                raise
            await asyncio.sleep(AGAIN_SECONDS)


async def _events(client: KubernetesClient, selector: Mapping[str, str], version: str) -> AsyncGenerator[Object, None]:
    """Events behind a version, until the API server ends the watch. Raises `Refusal` with 410 where the version is too old."""
    query = {**selector, "watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": WATCH_SECONDS}
    async with aclosing(client.stream(client.path("pods"), query, silence=SILENCE_SECONDS)) as pieces:
        rest = b""
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield _event(line)
            if len(rest) > LONGEST_EVENT:
                raise EngineUnreachableError("the cluster sent an event without end")


def _event(line: bytes) -> Object:
    try:
        event: Object = json.loads(line)
        kind, told = event["type"], event["object"]
        if kind != "ERROR":
            str(told["metadata"]["resourceVersion"])
            return event
        refused = refusal(int(told.get("code") or 0), json.dumps(told))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineUnreachableError("the cluster sent an event that is none") from error
    raise refused
