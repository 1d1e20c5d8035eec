"""Calls of an API server, and connections that are refused."""

import asyncio
import gc
from pathlib import Path

import pytest
from tandem_fleet.backends.kubernetes.client import KubernetesClient, Refusal, configuration, refusal
from tandem_fleet.errors import EngineUnreachableError

from tests.fleet.backends.kubernetes.api_server import NAMESPACE, TOKEN, ApiServer, config

pytestmark = pytest.mark.anyio


def test_paths_are_of_core_or_of_a_group() -> None:
    client = KubernetesClient("space")
    assert client.path("pods") == "/api/v1/namespaces/space/pods"
    assert client.path("networking.k8s.io/v1/networkpolicies", "a") == "/apis/networking.k8s.io/v1/namespaces/space/networkpolicies/a"


@pytest.mark.parametrize(
    ("status", "content", "transient", "said"),
    [
        (403, '{"message": "pods is forbidden"}', False, "pods is forbidden"),
        (404, "<html>", False, "<html>"),
        (409, "", False, "HTTP status 409"),
        (422, "[]", False, r"\[\]"),
        (503, '{"message": "starting"}', True, "starting"),
        (429, '{"message": 1}', True, "1"),
        (409, '{"message": "the quota was changed", "reason": "Conflict"}', True, "quota"),
        (409, '{"message": "it exists", "reason": "AlreadyExists"}', False, "exists"),
    ],
)
def test_what_may_succeed_later_is_no_refusal(status: int, content: str, transient: bool, said: str) -> None:  # a case
    error = refusal(status, content)
    assert isinstance(error, EngineUnreachableError) is transient
    assert isinstance(error, Refusal) is not transient
    with pytest.raises(type(error), match=said):
        raise error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (config("http://10.0.0.1:8080"), "https"),
        (config("https://10.0.0.1", **{"insecure-skip-tls-verify": True}), "verification"),
        ("{", "no cluster"),
        ("[]", "no cluster"),
        ("", "no cluster"),
    ],
)
async def test_a_connection_that_is_not_private_or_not_described_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(EngineUnreachableError, match=said):
        await configuration(str(tmp_path / "config"), {})


async def test_where_the_cluster_is_comes_from_a_file_or_the_pod(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    for place, port in ((tmp_path / ".kube/config", 1), (tmp_path / "named", 2), (tmp_path / "variable", 3)):
        place.write_text(config(f"http://127.0.0.1:{port}"))
    environment = {"HOME": str(tmp_path)}
    assert (await configuration("", environment)).host == "http://127.0.0.1:1"
    assert (await configuration("", environment | {"KUBECONFIG": str(tmp_path / "variable")})).host == "http://127.0.0.1:3"
    named = await configuration(str(tmp_path / "named"), environment | {"KUBECONFIG": str(tmp_path / "variable")})
    assert (named.host, named.api_key["BearerToken"]) == ("http://127.0.0.1:2", f"Bearer {TOKEN}")
    with pytest.raises(EngineUnreachableError, match="no cluster"):
        await configuration("", environment | {"KUBERNETES_SERVICE_HOST": "10.96.0.1"})  # there is no service account here


async def test_a_cluster_that_does_not_answer_leaves_no_connection_open(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(config("http://127.0.0.1:9"))
    client = KubernetesClient(NAMESPACE, str(tmp_path / "config"))
    with pytest.raises(EngineUnreachableError, match="does not answer"):
        await client.get("pods", "a")
    await client.close()
    del client
    gc.collect()  # a session that nobody closed warns, and fails the test


async def test_a_key_that_the_cluster_does_not_know_is_said(client: KubernetesClient, kubeconfig: str) -> None:
    path = Path(kubeconfig)
    path.write_text(path.read_text().replace(TOKEN, "another"))
    with pytest.raises(Refusal, match="Unauthorized"):
        await client.get("pods", "a")


async def test_a_key_that_ended_is_read_again(client: KubernetesClient, cluster: ApiServer, kubeconfig: str) -> None:
    assert await client.get("pods", "a") is None
    cluster.token = "the next one"
    with pytest.raises(Refusal, match="Unauthorized"):
        await client.get("pods", "a")
    path = Path(kubeconfig)
    path.write_text(path.read_text().replace(TOKEN, "the next one"))
    answers = await asyncio.gather(*(client.get("pods", "a") for _ in range(5)))
    assert answers == [None] * 5


async def test_what_is_not_there_or_there_already_is_no_error(client: KubernetesClient, cluster: ApiServer) -> None:
    assert await client.get("secrets", "a") is None
    await client.delete("secrets", "a")
    for value in ("Zmlyc3Q=", "c2Vjb25k"):
        await client.create("secrets", {"metadata": {"name": "a"}, "data": {"key": value}})
    assert cluster.objects["secrets", "a"]["data"] == {"key": "Zmlyc3Q="}


async def test_an_annotation_is_set_and_taken_away(client: KubernetesClient, cluster: ApiServer) -> None:
    await client.create("secrets", {"metadata": {"name": "a", "annotations": {"kept": "1"}}})
    await client.annotate("secrets", "a", {"more": "2"})
    assert cluster.objects["secrets", "a"]["metadata"]["annotations"] == {"kept": "1", "more": "2"}
    await client.annotate("secrets", "a", {"more": None})
    assert cluster.objects["secrets", "a"]["metadata"]["annotations"] == {"kept": "1"}


async def test_a_list_that_became_too_old_is_begun_again(client: KubernetesClient, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[object] = [Refusal(410, "expired"), {"items": [{"metadata": {"name": "a"}}], "metadata": {"resourceVersion": "5"}}]

    async def call(*_: object, **__: object) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    monkeypatch.setattr(client, "call", call)
    async with asyncio.timeout(60):
        assert await client.listed("pods", {}) == ([{"metadata": {"name": "a"}}], "5")


async def test_a_stream_that_is_refused_says_why(client: KubernetesClient) -> None:
    with pytest.raises(Refusal, match="pods not found"):
        await anext(client.stream(client.path("pods", "a") + "/log", {"tailLines": 1}, silence=10))
