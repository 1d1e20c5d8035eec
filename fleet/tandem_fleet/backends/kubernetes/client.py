"""Calls of a cluster's API server, in JSON: what it refuses and that it does not answer are told apart."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import yaml
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.client.exceptions import ApiException
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

from tandem_fleet.errors import EngineError, EngineUnreachableError

CALL_SECONDS = 30.0
CONNECT_SECONDS = 10.0
PAGE = 500
"""Objects that a list is asked for at a time."""
TRANSIENT = frozenset({429, 500, 502, 503, 504})
"""Answers after which the same call may succeed later."""
CONFLICT = "Conflict"
"""The reason of a 409 that is not of an object that is there already: two changed the same at once, as a quota's use."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
MERGE = "application/merge-patch+json"
Object = dict[str, Any]


class Refusal(EngineError):
    """What the API server refused, with its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the cluster refused: {message}")
        self.answered = status


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what goes wrong as ours."""
    try:
        yield
    except ApiException as error:
        raise refusal(error.status or 0, str(error.body or error.reason or "")) from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise EngineUnreachableError(f"the cluster does not answer: {error or type(error).__name__}") from error


@contextmanager
def nothing_to_do(answered: int) -> Iterator[None]:
    """Take a refusal with an HTTP status for what was asked for."""
    try:
        yield
    except Refusal as refused:
        if refused.answered != answered:
            raise


def refusal(status: int, content: str) -> EngineError:
    """The error of an answer: its status and its body, which is a `Status` as JSON if the API server itself answered."""
    try:
        told = json.loads(content)
        message, reason = str(told["message"]), told.get("reason")
    except (ValueError, KeyError, TypeError):
        message, reason = content[:200] or f"HTTP status {status}", None
    if status in TRANSIENT or reason == CONFLICT:
        return EngineUnreachableError(f"the cluster does not answer: {message}")
    return Refusal(status, message)


async def configuration(kubeconfig: str, environment: Mapping[str, str]) -> Configuration:
    """Where the API server is, and who we are there: of a kubeconfig file, or of the Pod that this runs in.

    Raises `EngineUnreachableError` where neither is there, and for a connection that others can read or answer in its place.
    """
    read = Configuration()
    read.retries = False
    path = kubeconfig or environment.get("KUBECONFIG", "")
    try:
        if not path and environment.get("KUBERNETES_SERVICE_HOST"):
            load_incluster_config(client_configuration=read)  # type: ignore[no-untyped-call]
        else:
            path = path or str(Path(environment.get("HOME") or "/") / ".kube/config")
            await load_kube_config(config_file=path, client_configuration=read, persist_config=False)
    except (ConfigException, OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise EngineUnreachableError(f"there is no cluster to use: {error}") from error
    _demand_privacy(read)
    return read


def _demand_privacy(read: Configuration) -> None:
    place = urlsplit(read.host)
    if place.scheme != "https" and place.hostname not in LOOPBACK:
        raise EngineUnreachableError(f"there is no cluster to use: {read.host} is not reached by https")
    if not read.verify_ssl:
        raise EngineUnreachableError("there is no cluster to use: the kubeconfig skips the verification of the API server's certificate")


class KubernetesClient:
    """The API server, asked in one namespace. It connects with the first call."""

    def __init__(self, namespace: str, kubeconfig: str = "") -> None:
        self.namespace = namespace
        self._kubeconfig = kubeconfig
        self._opened: ApiClient | None = None
        self._opening = asyncio.Lock()

    async def _api(self) -> ApiClient:
        async with self._opening:
            if self._opened is None:
                read = await configuration(self._kubeconfig, os.environ)
                with refusals():
                    self._opened = ApiClient(read)
            return self._opened

    async def close(self) -> None:
        """Let go of all connections."""
        if self._opened:
            await self._opened.close()
            self._opened = None

    def path(self, kind: str, name: str = "") -> str:
        """The path of a kind's objects in the namespace, as `pods` or `networking.k8s.io/v1/networkpolicies`, or of one of them."""
        group, _, resource = kind.rpartition("/")
        start = f"/apis/{group}" if group else "/api/v1"
        return f"{start}/namespaces/{self.namespace}/{resource}{f'/{name}' if name else ''}"

    async def call(self, verb: str, path: str, body: Object | None = None, *, query: Mapping[str, Any] | None = None) -> Object:
        """What the API server answers. Raises `Refusal` or `EngineUnreachableError`."""
        api = await self._api()
        known = api.configuration.api_key
        try:
            return await self._ask(api, verb, path, body, query or {})
        except Refusal as refused:
            if refused.answered != 401:
                raise
        await self._sign_in_again(api, known)
        return await self._ask(api, verb, path, body, query or {})

    async def _ask(self, api: ApiClient, verb: str, path: str, body: Object | None, query: Mapping[str, Any]) -> Object:
        kind = MERGE if verb == "PATCH" else "application/json"
        with refusals():
            answer: Object = await api.call_api(
                path,
                verb,
                query_params=list(query.items()),
                header_params={"Accept": "application/json", "Content-Type": kind},
                body=body,
                auth_settings=["BearerToken"],
                response_types_map=dict.fromkeys((200, 201, 202), "object"),
                _return_http_data_only=True,
                _request_timeout=CALL_SECONDS,
            )
        return answer

    async def _sign_in_again(self, api: ApiClient, known: dict[str, str]) -> None:
        """Take the key that the kubeconfig or its command gives now: those of a cloud end after minutes."""
        async with self._opening:
            if api.configuration.api_key is known:
                api.configuration.api_key = (await configuration(self._kubeconfig, os.environ)).api_key

    async def get(self, kind: str, name: str) -> Object | None:
        """An object; None where there is none."""
        with nothing_to_do(404):
            return await self.call("GET", self.path(kind, name))
        return None

    async def create(self, kind: str, made: Object) -> None:
        """Make an object. One that is there is left as it is."""
        with nothing_to_do(409):
            await self.call("POST", self.path(kind), made)

    async def delete(self, kind: str, name: str, *, grace: int | None = None) -> None:
        """Remove an object, with `grace` seconds to end in order. One that does not exist is no error."""
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        with nothing_to_do(404):
            await self.call("DELETE", self.path(kind, name), body | ({} if grace is None else {"gracePeriodSeconds": grace}))

    async def patch(self, kind: str, name: str, change: Object) -> None:
        """Merge a change into an object."""
        await self.call("PATCH", self.path(kind, name), change)

    async def annotate(self, kind: str, name: str, annotations: Mapping[str, str | None]) -> None:
        """Set an object's annotations; None takes one away."""
        await self.patch(kind, name, {"metadata": {"annotations": dict(annotations)}})

    async def listed(self, kind: str, selector: Mapping[str, str]) -> tuple[list[Object], str]:
        """All objects that a selector chooses, and the version of the list, from which a watch goes on."""
        while True:
            try:
                return await self._list(kind, selector)
            except Refusal as refused:
                if refused.answered != 410:  # it took so long that the rest of the list is no longer known
                    raise

    async def _list(self, kind: str, selector: Mapping[str, str]) -> tuple[list[Object], str]:
        found: list[Object] = []
        following = ""
        while True:
            answer = await self.call(
                "GET", self.path(kind), query={**selector, "limit": PAGE} | ({"continue": following} if following else {})
            )
            found += answer.get("items") or ()
            following = answer["metadata"].get("continue") or ""
            if not following:
                return found, str(answer["metadata"].get("resourceVersion") or "")

    async def stream(self, path: str, query: Mapping[str, Any], *, silence: float | None) -> AsyncGenerator[bytes, None]:
        """What the API server goes on sending, in pieces as they come. `silence`: seconds without any after which it is given up."""
        api = await self._api()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence)
        with refusals():
            response: aiohttp.ClientResponse = await api.call_api(
                path,
                "GET",
                query_params=list(query.items()),
                header_params={"Accept": "application/json, */*"},
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=timeout,
            )
            async with response:
                if response.status != 200:
                    raise refusal(response.status, (await response.read()).decode("utf-8", "replace"))
                async for piece in response.content.iter_any():
                    yield piece
