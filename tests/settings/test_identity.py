"""The variables of the sandbox's own identity."""

import json

import pytest

from sandbox_server.settings import BadSettings, agent_environ, load, without_secrets
from sandbox_server.settings.identity import GIT_HELPER, gcp_configuration
from tests.tables import table_test

ROLE = "arn:aws:iam::123456789012:role/sandbox"
PROVIDER = "//iam.googleapis.com/projects/7/locations/global/workloadIdentityPools/pool/providers/tandem"
UUID = "6f1e9c1e-0000-4000-8000-000000000001"
FOLDER = "/run/sandbox-agent/identity"


def agents(**environ: str) -> dict[str, str]:
    return agent_environ(environ, load(environ))


def test_nothing_is_set_for_programs_unless_the_owner_configures_it() -> None:
    assert not [name for name in agents() if name.startswith(("AWS", "GOOGLE", "AZURE", "GIT", "IDENTITY"))]


def test_programs_find_the_files_of_the_configured_clouds() -> None:
    found = agents(IDENTITY_AWS_ROLE_ARN=ROLE, IDENTITY_GCP_PROVIDER=PROVIDER, IDENTITY_AZURE_CLIENT_ID=UUID, IDENTITY_AZURE_TENANT_ID=UUID)

    assert (found["AWS_WEB_IDENTITY_TOKEN_FILE"], found["AWS_ROLE_ARN"]) == (f"{FOLDER}/aws-token", ROLE)
    assert found["GOOGLE_APPLICATION_CREDENTIALS"] == f"{FOLDER}/gcp.json"
    assert (found["AZURE_FEDERATED_TOKEN_FILE"], found["AZURE_CLIENT_ID"]) == (f"{FOLDER}/azure-token", UUID)
    assert not [name for name in found if name.startswith("IDENTITY")]


def test_what_the_owner_sets_by_hand_stays() -> None:
    assert agents(IDENTITY_AWS_ROLE_ARN=ROLE, AWS_ROLE_ARN="mine")["AWS_ROLE_ARN"] == "mine"


def test_git_gets_the_helper_for_each_host_behind_what_it_has() -> None:
    found = agents(
        IDENTITY_GIT_HOSTS="git.example, Other.example:8443", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="a.b", GIT_CONFIG_VALUE_0="c"
    )

    assert (found["GIT_CONFIG_COUNT"], found["GIT_CONFIG_KEY_0"]) == ("3", "a.b")
    assert (found["GIT_CONFIG_KEY_1"], found["GIT_CONFIG_VALUE_1"]) == ("credential.https://git.example.helper", GIT_HELPER)
    assert found["GIT_CONFIG_KEY_2"] == "credential.https://other.example:8443.helper"


def test_google_s_configuration_reads_the_token_from_its_file() -> None:
    settings = load({"IDENTITY_GCP_PROVIDER": PROVIDER, "IDENTITY_GCP_SERVICE_ACCOUNT": "box@project.iam.gserviceaccount.com"})
    found = json.loads(gcp_configuration(settings.identity, FOLDER))

    assert (found["type"], found["audience"]) == ("external_account", PROVIDER)
    assert found["credential_source"]["file"] == f"{FOLDER}/gcp-token"
    assert found["service_account_impersonation_url"].endswith("/box@project.iam.gserviceaccount.com:generateAccessToken")
    assert "service_account" not in gcp_configuration(load({"IDENTITY_GCP_PROVIDER": PROVIDER}).identity, FOLDER)


def test_the_client_secret_is_shown_to_nobody() -> None:
    environ = {"IDENTITY_TOKEN_ENDPOINT_CLIENT_ID": "box", "IDENTITY_TOKEN_ENDPOINT_CLIENT_SECRET": "s3cret"}
    assert "s3cret" not in repr(load(environ))
    assert without_secrets(environ) == {"IDENTITY_TOKEN_ENDPOINT_CLIENT_ID": "box"}


@table_test(
    [
        (
            "IDENTITY_ISSUER",
            ["box.example", "https://box.example?x=1", "https://box.example#x", "https://u:p@box.example", "https://", "x:/"],
        ),
        ("IDENTITY_TRUST_DOMAIN", ["Example.org", "a/b", "é", "spiffe://x", "a" * 256]),
        ("IDENTITY_SANDBOX_ID", ["a/b", "..", "é", "a" * 65]),
        ("IDENTITY_KEY_FILE", ["/etc/key.pem", "/run/../etc/key.pem", "key.pem", "/run/sandbox-agent/key.pem", "/runs/key.pem"]),
        ("IDENTITY_AUDIENCES", ["a*b*", '"x"', "é"]),
        ("IDENTITY_TOKEN_SECONDS", ["59", "3601", "nan", "x"]),
        ("IDENTITY_AWS_ROLE_ARN", ["sandbox", "arn:aws:iam::1:role/x", "arn:aws:s3:::bucket", f"{ROLE}\nx"]),
        ("IDENTITY_GCP_PROVIDER", ["projects/7", f"https:{PROVIDER}", f"{PROVIDER}/x"]),
        ("IDENTITY_GCP_SERVICE_ACCOUNT", ["box", "box@example.org", "a/b@project.iam.gserviceaccount.com"]),
        ("IDENTITY_AZURE_CLIENT_ID", ["box", f"{UUID}0"]),
        ("IDENTITY_TOKEN_ENDPOINT", ["sts.example", "ftp://x", "https://u:p@x/"]),
        ("IDENTITY_GIT_HOSTS", ["https://git.example", "*.example", "a/b", "git.example:port"]),
        ("IDENTITY_GIT_USERNAME", ["a b", "a\nb", "a:b"]),
    ]
)
def test_a_value_that_cannot_be_used_stops_the_start(name: str, values: list[str]) -> None:
    for value in values:
        with pytest.raises(BadSettings, match=name):
            load({name: value, "IDENTITY_ISSUER": "https://box.example"} if name != "IDENTITY_ISSUER" else {name: value})


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"IDENTITY_KEY_FILE": "/run/secrets/key.pem"}, "IDENTITY_ISSUER must be set"),
        ({"IDENTITY_AZURE_CLIENT_ID": UUID}, "set together"),
        ({"IDENTITY_GCP_SERVICE_ACCOUNT": "box@project.iam.gserviceaccount.com"}, "IDENTITY_GCP_PROVIDER must be set"),
        ({"IDENTITY_TOKEN_ENDPOINT_CLIENT_ID": "x"}, "set together"),
    ],
)
def test_what_belongs_together_is_set_together(environ: dict[str, str], why: str) -> None:
    with pytest.raises(BadSettings, match=why):
        load(environ)
