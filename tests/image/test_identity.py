"""The sandbox's own identity, from outside and from within its box, with real verifiers."""

import json
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import jwt
import pytest

from tests.identities import pem, stranger
from tests.image.clouds import AwsTokenService, GitServer, GoogleTokenService, VerifyingServer, verified
from tests.image.container import Sandbox
from tests.image.test_recorder import events, last
from tests.patience import until
from tests.settings.test_identity import PROVIDER, ROLE, UUID

PYTHON = "/opt/agents/bin/python"
"""Where botocore and google-auth are."""
ALIAS = f"identity-{secrets.token_hex(4)}"
ISSUER = f"http://{ALIAS}:8080"
FOLDER = "/run/sandbox-agent/identity"
SOCKET = f"{FOLDER}/identity.sock"
ASK = f"curl -sS --max-time 20 --unix-socket {SOCKET} -H 'Accept: text/plain' http://localhost/token?audience="
GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT = "urn:ietf:params:oauth:token-type:jwt"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


@pytest.fixture(scope="module")
def git_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with GitServer(ISSUER, tmp_path_factory.mktemp("git")) as found:
        yield found


@pytest.fixture(scope="module")
def identified(sandbox_with: Callable[..., Sandbox], git_server: GitServer) -> Sandbox:
    """One container whose owner has configured all clouds and a git host."""
    environ = {
        "IDENTITY_ISSUER": ISSUER,
        "IDENTITY_SANDBOX_ID": "box-1",
        "IDENTITY_TRUST_DOMAIN": "example.org",
        "IDENTITY_AWS_ROLE_ARN": ROLE,
        "IDENTITY_GCP_PROVIDER": PROVIDER,
        "IDENTITY_AZURE_CLIENT_ID": UUID,
        "IDENTITY_AZURE_TENANT_ID": UUID,
        "IDENTITY_GIT_HOSTS": git_server.host,
    }
    return sandbox_with(env=environ, args=[f"--network-alias={ALIAS}"])


def agent(sandbox: Sandbox) -> dict[str, str]:
    """What signs a request in as the agent."""
    return {"Authorization": f"Bearer {sandbox.run('cat', '/run/sandbox-agent/token').stdout.strip()}"}


def in_box(sandbox: Sandbox, command: str, user: str = "gem") -> str:
    done = sandbox.run("sh", "-c", command, user=user)
    return done.stdout.strip()


def claims(token: str, audience: str) -> dict[str, Any]:
    return verified(token, f"{ISSUER}/.well-known/jwks.json", audience, ISSUER)


def given(sandbox: Sandbox, audience: str) -> str:
    answer = sandbox.request("GET", "/v1/identity/token", params={"audience": audience}, headers=agent(sandbox))
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["token"])


def test_verifiers_find_the_keys_without_signing_in(identified: Sandbox) -> None:
    metadata = identified.http.get(f"{ISSUER}/.well-known/openid-configuration")
    keys = identified.http.get(metadata.json()["jwks_uri"])

    assert (metadata.status_code, metadata.json()["issuer"]) == (200, ISSUER)
    assert keys.headers["cache-control"] == "public, max-age=300"
    assert keys.headers["content-type"].startswith("application/json")
    assert set(keys.json()["keys"][0]) == {"e", "kty", "n", "use", "alg", "kid"}


def test_a_token_of_the_api_verifies_through_the_gateway(identified: Sandbox) -> None:
    found = claims(given(identified, "vault"), "vault")
    assert (found["sandbox_id"], found["aud"]) == ("box-1", "vault")
    assert found["sub"].startswith("spiffe://example.org/")


def test_programs_in_the_box_get_one_without_a_key(identified: Sandbox) -> None:
    for user in ("gem", "root"):
        token = in_box(identified, f"{ASK}vault", user)
        assert claims(token, "vault")["sandbox_id"] == "box-1"
    assert "for the agent's user and root" in in_box(identified, f"sudo -u nobody {ASK}vault")


def test_the_command_line_gives_one_too(identified: Sandbox) -> None:
    answer = json.loads(in_box(identified, "sandbox identity get-identity-token --audience vault"))
    assert claims(answer["token"], "vault")["aud"] == "vault"


def test_shells_and_kernels_know_where_the_files_are(identified: Sandbox) -> None:
    shell = in_box(identified, "echo $AWS_WEB_IDENTITY_TOKEN_FILE $GOOGLE_APPLICATION_CREDENTIALS $AZURE_FEDERATED_TOKEN_FILE")
    code = "import os; print(os.environ['AWS_ROLE_ARN'], open(os.environ['AWS_WEB_IDENTITY_TOKEN_FILE']).read())"
    kernel = identified.request("POST", "/v1/jupyter/execute", json={"code": code}).json()["data"]

    assert shell == f"{FOLDER}/aws-token {FOLDER}/gcp.json {FOLDER}/azure-token"
    role, token = "".join(output.get("text") or "" for output in kernel["outputs"]).split()
    assert role == ROLE
    assert claims(token, "sts.amazonaws.com")["sandbox_id"] == "box-1"


def test_each_cloud_s_file_has_the_audience_that_it_expects(identified: Sandbox) -> None:
    for name, audience in (("gcp-token", f"https:{PROVIDER}"), ("azure-token", "api://AzureADTokenExchange")):
        assert claims(in_box(identified, f"cat {FOLDER}/{name}"), audience)["sandbox_id"] == "box-1"


def test_botocore_assumes_the_role_by_the_file(identified: Sandbox, tmp_path: Path) -> None:
    """The client is AWS's own; the token service is a stand-in that verifies by the published keys."""
    (tmp_path / "aws-token").write_text(in_box(identified, f"cat {FOLDER}/aws-token"))
    program = "import botocore.session; print(botocore.session.get_session().get_credentials().get_frozen_credentials().access_key)"
    with AwsTokenService(ISSUER) as service:
        environ = {
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "aws-token"),
            "AWS_ROLE_ARN": ROLE,
            "AWS_ENDPOINT_URL_STS": f"http://127.0.0.1:{service.port}",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "HOME": str(tmp_path),
        }
        done = subprocess.run([PYTHON, "-c", program], env=environ, capture_output=True, text=True, timeout=120, check=False)
        (tmp_path / "aws-token").write_text(jwt.encode({"aud": "sts.amazonaws.com", "iss": ISSUER}, "x" * 32, headers={"kid": "x"}))
        forged = subprocess.run([PYTHON, "-c", program], env=environ, capture_output=True, text=True, timeout=120, check=False)

    assert done.stdout.strip() == "AKIDEXAMPLE", done.stderr
    assert service.seen[0]["sandbox_id"] == "box-1"
    assert (forged.returncode != 0, service.refused) == (True, 1)


def test_google_s_library_exchanges_the_file_s_token(identified: Sandbox, tmp_path: Path) -> None:
    """The client is Google's own; the token service is a stand-in that verifies by the published keys."""
    configuration = json.loads(in_box(identified, f"cat {FOLDER}/gcp.json"))
    (tmp_path / "gcp-token").write_text(in_box(identified, f"cat {configuration['credential_source']['file']}"))
    program = (
        "import sys, google.auth.identity_pool as pool, google.auth.transport.requests as requests; "
        "found = pool.Credentials.from_file(sys.argv[1], scopes=['a']); found.refresh(requests.Request()); print(found.token)"
    )
    with GoogleTokenService(ISSUER) as service:
        configuration["credential_source"]["file"] = str(tmp_path / "gcp-token")
        configuration["token_url"] = f"http://127.0.0.1:{service.port}/v1/token"
        (tmp_path / "gcp.json").write_text(json.dumps(configuration))
        done = subprocess.run(
            [PYTHON, "-c", program, str(tmp_path / "gcp.json")],
            env={"HOME": str(tmp_path), "NO_GCE_CHECK": "true"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert done.stdout.strip() == "ya29", done.stderr
    assert service.seen[0]["aud"] == f"https:{PROVIDER}"


def test_git_clones_with_a_token_for_its_host_alone(identified: Sandbox, git_server: GitServer, tmp_path: Path) -> None:
    clone = "rm -rf /tmp/cloned; GIT_SSL_NO_VERIFY=1 GIT_TERMINAL_PROMPT=0 git clone -q"
    done = identified.run("sh", "-c", f"{clone} https://{git_server.host}/repository.git /tmp/cloned && git -C /tmp/cloned log --format=%s")
    assert done.stdout.strip() == "first", done.stderr
    assert git_server.seen[0]["aud"] == f"https://{git_server.host}"

    (tmp_path / "other").mkdir()
    with GitServer(ISSUER, tmp_path / "other") as other:
        done = identified.run("sh", "-c", f"{clone} https://{other.host}/repository.git /tmp/cloned")
    assert done.code != 0
    assert (other.seen, other.refused) == ([], 0)


def test_git_gets_the_placeholder_of_a_secret_that_is_bound_to_the_host(identified: Sandbox, git_server: GitServer) -> None:
    secret = {"value": "the-owner-s-password", "bindings": [{"hosts": [git_server.host]}], "placeholder": "placeholder-for-git"}
    identified.request("PUT", "/v1/secrets/git", json=secret).raise_for_status()
    fill = f"printf 'protocol=https\\nhost={git_server.host}\\n\\n' | git credential fill"
    assert "password=placeholder-for-git" in in_box(identified, fill)
    identified.request("DELETE", "/v1/secrets/git").raise_for_status()
    assert "password=ey" in in_box(identified, fill)


def test_an_agent_neither_binds_nor_rotates(identified: Sandbox) -> None:
    for path, body in (("/v1/sandbox/bind", {"tenant": "evil"}), ("/v1/identity/rotate", {})):
        assert identified.request("POST", path, json=body, headers=agent(identified)).status_code == 403


def test_a_binding_is_in_the_next_tokens_the_files_the_events_and_the_record(identified: Sandbox) -> None:
    before, at = given(identified, "vault"), last(identified)
    with identified.http.stream("GET", f"{identified.base_url}/v1/events", headers=identified.headers) as stream:
        answer = identified.request("POST", "/v1/sandbox/bind", json={"tenant": "acme", "task": "t-1", "labels": {"team": "search"}})
        told = next(line for line in stream.iter_lines() if '"acme"' in line)
    assert (answer.status_code, answer.headers["etag"]) == (200, '"1"')
    assert json.loads(told.removeprefix("data: "))["task"] == "t-1"

    after = claims(given(identified, "vault"), "vault")
    assert (after["sub"], after["labels"]) == ("spiffe://example.org/tenant/acme/task/t-1/sandbox/box-1", {"team": "search"})
    assert "tenant" not in claims(before, "vault")
    until(lambda: claims(in_box(identified, f"cat {FOLDER}/aws-token"), "sts.amazonaws.com").get("tenant") == "acme")
    assert identified.request("GET", "/v1/sandbox").json()["binding"]["tenant"] == "acme"

    def recorded() -> list[dict[str, Any]]:
        return [event for event in events(identified, after=at, limit=1000) if event.get("operation") == "identity.bind_sandbox"]

    until(recorded)
    [entry] = recorded()
    assert (entry["kind"], entry["request"]["tenant"]) == ("access", "acme")

    assert identified.request("POST", "/v1/sandbox/bind", json={"tenant": "acme", "task": "t-2"}).status_code == 428
    moved = identified.request("POST", "/v1/sandbox/bind", json={"tenant": "other"}, headers={"If-Match": '"1"'})
    assert moved.status_code == 409


def test_a_restored_checkpoint_changes_nothing_of_the_identity(identified: Sandbox) -> None:
    before = identified.request("GET", "/v1/identity").json()["data"]
    made = identified.request("POST", "/v1/checkpoints", json={"label": "before"}).json()["data"]
    identified.request("POST", f"/v1/checkpoints/{made['checkpoint']['id']}/restore", json={}).raise_for_status()

    assert identified.request("GET", "/v1/identity").json()["data"] == before
    assert claims(in_box(identified, f"{ASK}vault"), "vault")["sub"] == before["subject"]


def exchanged(sandbox: Sandbox, **fields: str) -> httpx.Response:
    form = {"grant_type": GRANT, "audience": "vault"} | fields
    headers = agent(sandbox) | {"Content-Type": "application/x-www-form-urlencoded"}
    return sandbox.request("POST", "/v1/identity/exchange", content=urlencode(form), headers=headers)


def test_a_caller_s_token_is_exchanged_for_one_that_names_the_sandbox_as_actor(identified: Sandbox) -> None:
    key = identified.request("POST", "/v1/keys", json={"label": "ann"}).json()["data"]
    answer = exchanged(identified, subject_token=key["key"], subject_token_type=ACCESS_TOKEN, scope="view")

    assert answer.status_code == 200, answer.text
    found = claims(answer.json()["access_token"], "vault")
    assert (found["sub"], found["scope"]) == (f"urn:tandem:caller:{key['name']}", "view")
    assert found["act"]["sub"].startswith("spiffe://example.org/")
    refused = exchanged(identified, subject_token="nobody's", subject_token_type=ACCESS_TOKEN)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
    own = exchanged(identified, subject_token=given(identified, ISSUER), subject_token_type=JWT)
    assert claims(own.json()["access_token"], "vault")["sandbox_id"] == "box-1"


def test_the_old_key_verifies_after_a_rotation(identified: Sandbox) -> None:
    old = given(identified, "vault")
    new = identified.request("POST", "/v1/identity/rotate").json()["data"]["key_id"]

    assert claims(old, "vault")
    assert jwt.get_unverified_header(given(identified, "vault"))["kid"] == new


def test_root_in_the_box_changes_none_of_the_files(identified: Sandbox) -> None:
    before = in_box(identified, f"cat {FOLDER}/gcp.json")
    for attempt in (
        f"rm -f {FOLDER}/aws-token",
        f"ln -sf /etc/shadow {FOLDER}/aws-token",
        f"mv {FOLDER} {FOLDER}-away",
        f"rm -f {SOCKET}",
        f"echo x >{FOLDER}/gcp.json",
        f"mount --bind /tmp {FOLDER}/.. -o remount,rw",
    ):
        assert identified.run("sh", "-c", attempt, user="root").code != 0, attempt
    assert in_box(identified, f"cat {FOLDER}/gcp.json") == before
    assert identified.exec("readlink", f"{FOLDER}/aws-token").code != 0


SCAN = """
import os, sys
needle = (sys.argv[1][::-1]).encode()  # backwards, so that this program's own memory is told apart
found = []
for place in ("/run", "/tmp", "/home", "/root", "/sandbox", "/srv", "/dev/shm", "/var", "/etc", "/opt/tandem", "/opt/gem"):
    for folder, _, names in os.walk(place):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and os.stat(path).st_size < 1 << 27 and needle in open(path, "rb").read():
                    found.append(path)
            except OSError:
                pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) in (os.getpid(), os.getppid()):
        continue
    for name in ("environ", "cmdline"):
        try:
            if needle in open(f"/proc/{pid}/{name}", "rb").read():
                found.append(f"/proc/{pid}/{name}")
        except OSError:
            pass
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                if line.split()[1][0] == "r" and end - start < 1 << 28:
                    try:
                        memory.seek(start)
                        if needle in memory.read(end - start):
                            found.append(f"/proc/{pid}/mem {line.split()[-1]}")
                    except (OSError, ValueError, OverflowError):
                        pass
    except OSError:
        pass
print("scanned", found)
"""


def scanned(sandbox: Sandbox, needle: str) -> str:
    """Where root in the box finds a text: in files, and in the memory of processes."""
    return in_box(sandbox, f"cat > /tmp/scan.py <<'EOF'\n{SCAN}\nEOF\npython3 /tmp/scan.py {needle[::-1]}", "root")


def test_root_in_the_box_finds_the_private_key_nowhere(identified: Sandbox) -> None:
    identified.run("sh", "-c", "echo planted-by-the-test > /home/gem/planted")
    assert scanned(identified, "planted-by-the-test") == "scanned ['/home/gem/planted']"

    private = json.loads(identified.exec("cat", "/run/sandbox/identity-keys.json").stdout)["private"]
    for line in private.splitlines()[2:5]:
        assert scanned(identified, line) == "scanned []"
    assert "PRIVATE" not in in_box(identified, f"cat {FOLDER}/* 2>/dev/null", "root")
    assert identified.run("cat", "/run/sandbox/identity-keys.json", user="root").code != 0


def test_no_token_is_in_the_logs_or_the_record(identified: Sandbox) -> None:
    tokens = [given(identified, "vault"), in_box(identified, f"{ASK}vault")]
    tokens += [exchanged(identified, subject_token=given(identified, ISSUER), subject_token_type=JWT).json()["access_token"]]
    exchanged(identified, subject_token=tokens[0], subject_token_type=JWT)
    events(identified, limit=1)  # what was recorded so far is in the file then

    def written() -> str:
        return identified.logs() + identified.exec("sh", "-c", "cat /run/sandbox-recorder/events/* /var/log/gem/* 2>/dev/null").stdout

    until(lambda: "identity.exchange_token" in written())
    found = written()
    for token in tokens:
        assert token not in found
        assert token.split(".")[2] not in found
        assert token.split(".")[1] not in found


FLOOD = f"""
import socket, sys
held = []
for _ in range(600):
    each = socket.socket(socket.AF_UNIX)
    each.settimeout(5)
    try:
        each.connect({SOCKET!r})
        each.send(b"GET /token")
    except OSError:
        pass
    held.append(each)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_flood_of_the_socket_holds_up_nobody_else_and_passes(identified: Sandbox) -> None:
    in_box(identified, f"cat > /tmp/flood.py <<'EOF'\n{FLOOD}\nEOF")
    flood = identified.request("POST", "/v1/bash/exec", json={"command": "python3 /tmp/flood.py", "async_mode": True}).json()["data"]
    for _ in range(20):
        answer = identified.request("GET", "/v1/identity", timeout=30)  # the flood lasts until it is ended below
        assert answer.status_code == 200
    assert flood
    in_box(identified, "pkill -f flood.py")
    until(lambda: in_box(identified, f"{ASK}vault").count(".") == 2)


def test_odd_requests_are_refused_with_their_reason(identified: Sandbox) -> None:
    for query in ("", "?audience=", "?audience=a%20b", f"?audience={'x' * 300}", "?audience=m%C3%BCnchen", "?audience=a&audience=a"):
        answer = identified.request("GET", f"/v1/identity/token{query}", headers=agent(identified))
        assert answer.status_code in (400, 422), query
    for path in ("/.well-known/", "/.well-known/other", "/.well-known/jwks.json/x"):
        assert identified.http.get(f"{ISSUER}{path}").status_code == 401
    for path in ("/.well-known/../v1/identity", "/.well-known/%2e%2e/v1/identity"):
        assert identified.http.get(f"{ISSUER}{path}").status_code in (400, 401)


def test_the_owner_s_key_makes_one_issuer_of_a_fleet_and_is_not_in_the_box(start_sandbox: Callable[..., Sandbox]) -> None:
    key = pem(stranger())
    environ = {"IDENTITY_KEY_FILE": "/run/secrets/identity.pem", "IDENTITY_ISSUER": "https://fleet.example.org"}
    sandbox = start_sandbox(env=environ, files={"/run/secrets/identity.pem": key})
    token = given(sandbox, "vault")
    with VerifyingServer("https://fleet.example.org") as fleet:
        fleet.jwks_url = f"{sandbox.base_url}/.well-known/jwks.json"
        assert fleet.admits(token, "vault")

    assert jwt.decode(token, stranger().public_key(), algorithms=["RS256"], audience="vault")["iss"] == "https://fleet.example.org"
    assert scanned(sandbox, key.splitlines()[2]) == "scanned []"
    assert sandbox.request("POST", "/v1/identity/rotate").status_code == 409
    assert os.path.basename(environ["IDENTITY_KEY_FILE"]) not in in_box(sandbox, "ls -R /run", "root")
