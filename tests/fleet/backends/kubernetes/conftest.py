"""A cluster in process, and a gateway where the Pods' own would be."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import jwt
import pytest
from aiohttp import web
from tandem_fleet.backends.backend import Order
from tandem_fleet.backends.kubernetes.client import KubernetesClient
from tandem_fleet.backends.kubernetes.kubernetes_backend import KubernetesBackend
from tandem_fleet.sandboxes import Spec, new_id
from tandem_fleet.settings import KubernetesSettings
from tandem_fleet.signing_key import ISSUER, SigningKey

from tests.fleet.backends.kubernetes.api_server import NAMESPACE, ApiServer, served


class Gateway:
    """What answers in every Pod. It takes the fleet's tokens, whichever sandbox they name."""

    def __init__(self, key: SigningKey) -> None:
        self.address = f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(254) + 1}.{secrets.randbelow(254) + 1}"
        self.asked: list[tuple[str, str]] = []
        """Paths, and the sandboxes that their tokens named."""
        self.answer: tuple[int, str] = (200, '{"data": {"state": "suspended"}}')
        self._key = key

    async def respond(self, request: web.Request) -> web.Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        claims = jwt.decode(token, self._key.private.public_key(), algorithms=["EdDSA"], options={"verify_aud": False})
        self.asked.append((request.path, claims["aud"]))
        return web.Response(status=self.answer[0], text=self.answer[1])

    async def ready(self, _: web.Request) -> web.Response:
        return web.Response()


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    """The fleet's."""
    return SigningKey.kept(tmp_path / "key.pem")


@pytest.fixture
async def pods(key: SigningKey) -> AsyncIterator[Gateway]:
    """Where all Pods answer, on the port that they do."""
    gateway = Gateway(key)
    app = web.Application()
    app.router.add_post("/v1/{name}", gateway.respond)
    app.router.add_get("/readyz", gateway.ready)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, gateway.address, 8080).start()
    yield gateway
    await runner.cleanup()


@pytest.fixture
def cluster(pods: Gateway) -> ApiServer:
    """A cluster whose Pods run at once."""
    return ApiServer(pods.address)


@pytest.fixture
async def kubeconfig(cluster: ApiServer, tmp_path: Path) -> AsyncIterator[str]:
    """The file that leads to the cluster."""
    async with served(cluster, tmp_path) as path:
        yield path


@pytest.fixture
async def client(kubeconfig: str) -> AsyncIterator[KubernetesClient]:
    """Its client."""
    opened = KubernetesClient(NAMESPACE, kubeconfig)
    yield opened
    await opened.close()


def settings(kubeconfig: str, **values: str) -> KubernetesSettings:
    """What a back end on the cluster is told."""
    given = {"TANDEM_NAMESPACE": NAMESPACE, "TANDEM_VOLUME_SIZE": "1Gi", "TANDEM_KUBECONFIG": kubeconfig}
    return KubernetesSettings.of(given | values)


@pytest.fixture(params=["plain"])
async def backend(kubeconfig: str, key: SigningKey, request: pytest.FixtureRequest) -> AsyncIterator[KubernetesBackend]:
    """A fleet's back end on the cluster."""
    given = settings(kubeconfig, TANDEM_PODS=request.param)
    opened = KubernetesBackend("fleet", given, lambda sandbox: key.sign(sandbox, "fleet", {"shell"}, 60))
    yield opened
    await opened.close()


@pytest.fixture
def order() -> Order:
    """A sandbox that does not exist yet."""
    return Order(new_id(), "work", "default", Spec(image="image", environment={"SECRET": "s3cret"}), '{"keys": []}', ISSUER)
