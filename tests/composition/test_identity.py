"""The sandbox's own identity, put together from the settings."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.composition.identity import build_identity, files_of, issuer_of, keys_of, placeholders_of
from sandbox_server.composition.machine import build_machine
from sandbox_server.composition.secrets import build_secrets
from sandbox_server.core.errors import Unauthenticated
from sandbox_server.drivers.workload_identity.signing_keys import ContainerKeys, OwnersKeys
from sandbox_server.drivers.workload_identity.token_files import TokenFiles
from sandbox_server.drivers.workload_identity.token_issuer import TokenIssuer
from sandbox_server.drivers.workload_identity.token_socket import TokenSocket
from sandbox_server.features.workload_identity.box_socket import BoxAnswers
from sandbox_server.settings import Paths, Settings, load
from tests.composition.made import first
from tests.identities import claims_in
from tests.settings.test_identity import PROVIDER, ROLE, UUID

pytestmark = pytest.mark.anyio


def placed(folder: Path, **environ: str) -> Settings:
    (folder / "agent" / "identity").mkdir(parents=True, exist_ok=True)
    return replace(load(environ), paths=Paths(run=str(folder), agent_run=f"{folder}/agent"))


def issuer(settings: Settings) -> TokenIssuer:
    return TokenIssuer(issuer_of(settings), keys_of(settings), build_machine(settings).bindings)


def test_the_issuer_is_the_owner_s_word_and_never_a_request_s() -> None:
    assert issuer_of(load({})).url == "http://localhost:8080"
    assert issuer_of(load({"HANDOFF_LINK_URL": "https://box.example/"})).url == "https://box.example"
    named = issuer_of(load({"IDENTITY_ISSUER": "https://id.example:8443/fleet/", "HANDOFF_LINK_URL": "https://box.example"}))
    assert (named.url, named.trust_domain) == ("https://id.example:8443/fleet", "id.example")
    assert issuer_of(load({"IDENTITY_TRUST_DOMAIN": "prod.example"})).trust_domain == "prod.example"


def test_keys_are_the_container_s_unless_the_owner_gives_one() -> None:
    assert isinstance(keys_of(load({})), ContainerKeys)
    assert isinstance(keys_of(load({"IDENTITY_KEY_FILE": "/run/secrets/k.pem", "IDENTITY_ISSUER": "https://x.example"})), OwnersKeys)


def test_each_cloud_gets_the_audience_that_it_expects(tmp_path: Path) -> None:
    settings = placed(
        tmp_path,
        IDENTITY_AWS_ROLE_ARN=ROLE,
        IDENTITY_GCP_PROVIDER=PROVIDER,
        IDENTITY_AZURE_CLIENT_ID=UUID,
        IDENTITY_AZURE_TENANT_ID=UUID,
        IDENTITY_AUDIENCES="vault",
    )
    files = files_of(settings, issuer(settings))

    assert {name: claims_in(make())["aud"] for name, make in files.items() if name != "gcp.json"} == {
        "aws-token": "sts.amazonaws.com",
        "gcp-token": f"https:{PROVIDER}",
        "azure-token": "api://AzureADTokenExchange",
    }
    assert json.loads(files["gcp.json"]())["audience"] == PROVIDER
    assert files_of(load({}), issuer(settings)) == {}


def test_the_part_has_every_way_to_the_tokens() -> None:
    made = first()
    part, bindings = build_identity(made.machine, made.gateway.credentials)

    assert [feature.tag for feature in part.features] == ["identity"] * 5
    assert [type(each) for each in part.opened] == [TokenFiles, TokenSocket]
    assert bindings in part.features


def test_the_socket_is_for_the_agent_and_root() -> None:
    made = first(USER_UID="1234")
    _, socket = build_identity(made.machine, made.gateway.credentials)[0].opened

    assert isinstance(socket, TokenSocket)
    assert socket._uids == {0, 1234, os.geteuid()}
    assert isinstance(socket._answer, BoxAnswers)


def test_placeholders_are_given_where_an_egress_process_puts_secrets_in() -> None:
    made = first(EGRESS="false")
    assert placeholders_of(made.machine, build_secrets(made)[1]) is None


async def test_a_token_that_is_bound_to_tools_is_not_exchanged() -> None:
    made = first(SANDBOX_API_KEY="a-key-of-the-owner")
    exchange = build_identity(made.machine, made.gateway.credentials)[0].features[3]
    verify = exchange._verify  # type: ignore[attr-defined]

    assert (await verify("a-key-of-the-owner")).caller.name == "key"
    with pytest.raises(Unauthenticated):
        await verify("another")
