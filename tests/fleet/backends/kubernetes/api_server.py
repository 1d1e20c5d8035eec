"""An API server in process that keeps objects of one namespace, tells of their changes, and starts Pods as a kubelet does.

`test_cluster.py` holds a real cluster to the same suite as this one.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

Object = dict[str, Any]
NAMESPACE = "sandboxes"
TOKEN = "token-of-a-test"


class ApiServer:
    """The objects, by kind and name. `address` is the Pods' own; without one they stay unscheduled."""

    def __init__(self, address: str = "") -> None:
        self.address = address
        self.objects: dict[tuple[str, str], Object] = {}
        self.token = TOKEN
        self.answered = 0
        """Calls so far."""
        self.away = 0
        """An HTTP status with which every call is answered."""
        self.forbidden: set[str] = set()
        """Verbs with resources, as `create pods`, that are not allowed."""
        self.drops_proc_mount = False
        self.knows_agents = True
        self.watches: list[str] = []
        """The version that each watch went on from."""
        self.page = 0
        """Objects of a list's page; 0: as many as are asked for."""
        self.expired = 0
        """Versions up to this one are too old to watch from."""
        self._versions = itertools.count(1)
        self.watchers: list[asyncio.Queue[Object | None]] = []

    def tell(self, event: Object | None) -> None:
        """Tell an event to everybody who watches; None ends the watches."""
        for watcher in self.watchers:
            watcher.put_nowait(event)

    def change(self, kind: str, name: str, **values: Any) -> None:
        """Change an object as somebody else does."""
        made = self.objects[kind, name]
        made |= values
        self._bump(made)
        if kind == "pods":
            self.tell({"type": "MODIFIED", "object": deepcopy(made)})
        asyncio.get_running_loop().call_soon(self.control)

    def control(self) -> None:
        """Do what the controller of agent-sandbox does: a Sandbox of the mode Running has a Pod, one of the mode Suspended has none."""
        for (kind, name), made in list(self.objects.items()):
            pod = self.objects.get(("pods", name))
            if kind != "sandboxes":
                continue
            if made["spec"]["operatingMode"] == "Suspended":
                self.remove("pods", name)
            elif pod is None:
                template = made["spec"]["podTemplate"]
                owner = {"kind": "Sandbox", "name": name, "uid": made["metadata"]["uid"], "controller": True}
                self.add("pods", {"metadata": {"name": name, "ownerReferences": [owner]} | template["metadata"], "spec": template["spec"]})

    def add(self, kind: str, made: Object) -> None:
        """Have an object be there."""
        name = made["metadata"]["name"]
        made["metadata"] |= {"uid": f"uid-{next(self._versions)}", "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
        self.objects[kind, name] = made
        self._bump(made)
        if kind == "pods":
            made["status"] = {"phase": "Pending"}
            self.tell({"type": "ADDED", "object": deepcopy(made)})
            asyncio.get_running_loop().call_soon(self._run, name)
        asyncio.get_running_loop().call_soon(self.control)

    def remove(self, kind: str, name: str) -> None:
        """Have an object be gone."""
        made = self.objects.pop((kind, name), None)
        if made and kind == "pods":
            self._bump(made)
            self.tell({"type": "DELETED", "object": made})

    def _bump(self, made: Object) -> None:
        made["metadata"]["resourceVersion"] = str(next(self._versions))

    def _run(self, name: str) -> None:
        if self.address and ("pods", name) in self.objects:
            status = {"phase": "Running", "podIP": self.address, "containerStatuses": [{"state": {"running": {}}}]}
            self.change("pods", name, status=status)

    def _allowed(self, request: web.Request) -> web.Response | None:
        self.answered += 1
        if self.away:
            return refuse(self.away, "etcdserver: request timed out")
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return refuse(401, "Unauthorized")
        return None

    async def create(self, request: web.Request) -> web.Response:
        kind, made = request.match_info["kind"], await request.json()
        name = made["metadata"]["name"]
        if no := self._allowed(request):
            return no
        if f"create {kind}" in self.forbidden:
            return refuse(403, f'{kind} is forbidden: User "test" cannot create resource')
        if (kind, name) in self.objects:
            return refuse(409, f'{kind} "{name}" already exists')
        if kind == "pods" and self.drops_proc_mount:
            made["spec"]["containers"][0]["securityContext"].pop("procMount", None)
        if request.query.get("dryRun") != "All":
            self.add(kind, made)
        return web.json_response(made, status=201)

    async def get(self, request: web.Request) -> web.Response:
        kind, name = request.match_info["kind"], request.match_info["name"]
        found = self.objects.get((kind, name))
        return self._allowed(request) or (web.json_response(found) if found else refuse(404, f'{kind} "{name}" not found'))

    async def patch(self, request: web.Request) -> web.Response:
        kind, name = request.match_info["kind"], request.match_info["name"]
        if no := self._allowed(request):
            return no
        if (kind, name) not in self.objects:
            return refuse(404, f'{kind} "{name}" not found')
        assert request.content_type == "application/merge-patch+json"
        change, made = await request.json(), self.objects[kind, name]
        merged = made["metadata"].get("annotations", {}) | change.get("metadata", {}).get("annotations", {})
        made["metadata"]["annotations"] = {key: value for key, value in merged.items() if value is not None}
        self.change(kind, name, spec=made.get("spec", {}) | change.get("spec", {}))
        return web.json_response(self.objects[kind, name])

    async def delete(self, request: web.Request) -> web.Response:
        kind, name = request.match_info["kind"], request.match_info["name"]
        if no := self._allowed(request):
            return no
        if (kind, name) not in self.objects:
            return refuse(404, f'{kind} "{name}" not found')
        if kind == "pods" and (await request.json()).get("gracePeriodSeconds"):
            self.change(kind, name, metadata=self.objects[kind, name]["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"})
            asyncio.get_running_loop().call_soon(self.remove, kind, name)
        else:
            self.remove(kind, name)
        return web.json_response({"kind": "Status", "status": "Success"})

    async def list(self, request: web.Request) -> web.StreamResponse:
        if no := self._allowed(request):
            return no
        if request.query.get("watch"):
            return await self.watch(request)
        chosen = [
            deepcopy(one) for (kind, _), one in sorted(self.objects.items()) if kind == request.match_info["kind"] and fits(one, request)
        ]
        start, limit = int(request.query.get("continue", 0)), self.page or int(request.query["limit"])
        following = str(start + limit) if start + limit < len(chosen) else ""
        metadata = {"resourceVersion": str(next(self._versions)), "continue": following}
        return web.json_response({"items": chosen[start : start + limit], "metadata": metadata})

    async def watch(self, request: web.Request) -> web.StreamResponse:
        version = request.query["resourceVersion"]
        self.watches.append(version)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if int(version) <= self.expired:
            await response.write(line({"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}))
            return response
        told: asyncio.Queue[Object | None] = asyncio.Queue()
        self.watchers.append(told)
        try:
            while (event := await told.get()) is not None:
                if event["type"] in ("ERROR", "BOOKMARK") or fits(event["object"], request):
                    await response.write(line(event))
        finally:
            self.watchers.remove(told)
        return response

    async def review(self, request: web.Request) -> web.Response:
        asked = (await request.json())["spec"]["resourceAttributes"]
        assert asked["namespace"] == NAMESPACE
        kind = f"{asked['resource']}/{asked['subresource']}" if asked["subresource"] else asked["resource"]
        return web.json_response({"status": {"allowed": f"{asked['verb']} {kind}" not in self.forbidden}}, status=201)

    async def log(self, request: web.Request) -> web.Response:
        if ("pods", request.match_info["name"]) not in self.objects:
            return refuse(404, "pods not found")
        return web.Response(text="".join(f"line {number}\n" for number in range(int(request.query["tailLines"]))))

    async def classes(self, request: web.Request) -> web.Response:
        if "list storageclasses" in self.forbidden:
            return refuse(403, "storageclasses is forbidden")
        return web.json_response({"items": [one for (kind, _), one in self.objects.items() if kind == "storageclasses"]})

    async def agents(self, request: web.Request) -> web.Response:
        return web.json_response({"kind": "APIResourceList"}) if self.knows_agents else refuse(404, "the server could not find it")

    async def version(self, request: web.Request) -> web.Response:
        return self._allowed(request) or web.json_response({"gitVersion": "v1.20.2"})


async def until(true: Callable[[], object]) -> None:
    """Return once something holds; fail after a minute."""
    async with asyncio.timeout(60):
        while True:
            if true():
                return
            await asyncio.sleep(0.001)


def fits(made: Object, request: web.Request) -> bool:
    """Whether a query's selectors choose an object."""
    labels, fields = request.query.get("labelSelector", ""), request.query.get("fieldSelector", "")
    metadata = made["metadata"]
    by_label = not labels or metadata.get("labels", {}).get(labels.partition("=")[0]) == labels.partition("=")[2]
    return by_label and (not fields or metadata["name"] == fields.removeprefix("metadata.name="))


def line(event: Object) -> bytes:
    """An event as a watch has it."""
    return json.dumps(event).encode() + b"\n"


def refuse(status: int, message: str) -> web.Response:
    """A refusal as the API server words it."""
    return web.json_response({"kind": "Status", "status": "Failure", "message": message, "code": status}, status=status)


@asynccontextmanager
async def served(cluster: ApiServer, folder: Path) -> AsyncIterator[str]:
    """Serve it until the block ends; gives the kubeconfig that leads there."""
    app = web.Application()
    app.router.add_post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", cluster.review)
    app.router.add_get("/apis/storage.k8s.io/v1/storageclasses", cluster.classes)
    app.router.add_get("/version", cluster.version)
    app.router.add_get("/apis/agents.x-k8s.io/v1beta1", cluster.agents)
    for group in ("/api/v1", "/apis/networking.k8s.io/v1", "/apis/agents.x-k8s.io/v1beta1"):
        place = f"{group}/namespaces/{NAMESPACE}/{{kind}}"
        app.router.add_get(f"{place}/{{name}}/log", cluster.log)
        app.router.add_post(place, cluster.create)
        app.router.add_get(place, cluster.list)
        app.router.add_get(f"{place}/{{name}}", cluster.get)
        app.router.add_patch(f"{place}/{{name}}", cluster.patch)
        app.router.add_delete(f"{place}/{{name}}", cluster.delete)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(config(f"http://127.0.0.1:{runner.addresses[0][1]}"))
    try:
        yield str(kubeconfig)
    finally:
        cluster.tell(None)
        await runner.cleanup()


def config(server: str, **more: Any) -> str:
    """A kubeconfig, as JSON, which is YAML."""
    return json.dumps({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server} | more}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    })  # fmt: skip
