"""The container starts, is supervised, and stops, as an orchestrator and a person with `docker run` see it."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.image.container import KEY, Sandbox, engine
from tests.patience import PATIENCE_SECONDS, until

type Start = Callable[..., Sandbox]

GREETER = """
[program:greeter]
command = /bin/sh -c 'id -un >/tmp/greeter; env >>/tmp/greeter; cd /opt/gem/greeter; exec python3 -m http.server 9100'
"""
ROUTE = "location = /greeting { proxy_pass http://127.0.0.1:9100/greeting.txt; }\n"


def processes(sandbox: Sandbox) -> dict[str, tuple[str, int]]:
    """User and pid of each of our own processes, by component; of several, the one that forked the others."""
    lines = sandbox.exec("ps", "axo", "user:20,pid,args", "--sort=start_time").stdout.splitlines()[1:]
    found: dict[str, tuple[str, int]] = {}
    for user, pid, args in (line.split(maxsplit=2) for line in lines):
        name = "gateway" if args.startswith("nginx:") or "/usr/sbin/nginx" in args else args.rpartition(" ")[2]
        found.setdefault(name, (user, int(pid)))
    return found


def test_each_component_runs_as_its_own_user(sandbox: Sandbox) -> None:
    users = {name: user for name, (user, _) in processes(sandbox).items()}
    assert {name: users[name] for name in ("boot", "spawn", "serve", "mcp", "gateway")} == {
        "boot": "root",
        "spawn": "root",
        "serve": "control",
        "mcp": "control",
        "gateway": "control",
    }


def test_the_first_process_is_one_that_reaps_orphans(sandbox: Sandbox) -> None:
    assert sandbox.exec("cat", "/proc/1/comm").stdout.strip() == "tini"


def test_the_agent_cannot_reach_the_sandboxs_sockets_secrets_or_code(sandbox: Sandbox) -> None:
    for path in ("/run/sandbox/api.sock", "/run/sandbox/environ.json", "/run/sandbox-boot"):
        assert sandbox.exec("ls", path, user="gem").code != 0
    for path in ("/opt/tandem", "/opt/tandem/sandbox_server/app.py", "/opt/venv/bin", "/run"):
        assert sandbox.exec("test", "-w", path, user="gem").code == 1


def test_nothing_of_the_machine_that_built_the_image_is_in_it(sandbox: Sandbox) -> None:
    assert sandbox.exec("ls", "/run/secrets").code != 0
    assert sandbox.exec("ls", "/usr/local/share/ca-certificates").stdout == ""


def test_with_our_profile_the_agent_can_make_a_user_namespace(sandbox: Sandbox) -> None:
    assert sandbox.exec("unshare", "--user", "--map-root-user", "--mount", "true", user="gem").code == 0


@pytest.mark.parametrize("component", ["spawn", "serve", "mcp", "gateway"])
@pytest.mark.slow
def test_a_component_that_is_killed_is_back(mended: Sandbox, component: str) -> None:
    _, before = processes(mended)[component]
    assert mended.exec("kill", "-9", str(before)).code == 0
    until(lambda: processes(mended).get(component, ("", before))[1] != before, told=mended.logs)
    mended.wait_ready()
    assert mended.request("GET", "/v1/sandbox").status_code == 200


def test_stopping_is_clean_and_runs_the_hooks(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"SANDBOX_SHUTDOWN_HOOKS": "echo the-hook-of-the-environment-ran"})
    hook = {"name": "bye", "command": "echo the-registered-hook-ran as $(id -un)"}
    assert sandbox.request("POST", "/v1/sandbox/hooks", json=hook).status_code == 200
    sandbox.stop()
    assert sandbox.inspect("{{.State.ExitCode}}") == "0"
    logs = sandbox.logs()
    assert "the-hook-of-the-environment-ran" in logs
    assert "the-registered-hook-ran as gem" in logs
    stopped = [logs.index(f"stopped: {name} ") for name in ("shutdown-hooks", "mcp", "gateway", "api", "spawner")]
    assert stopped == sorted(stopped)


@pytest.mark.slow
def test_a_container_that_was_killed_starts_again(mended: Sandbox) -> None:
    engine("kill", mended.name)
    engine("start", mended.name)
    mended.wait_ready()
    assert mended.request("GET", "/v1/sandbox").status_code == 200


def test_a_bad_setting_stops_the_container_and_is_named(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"MAX_SHELL_SESSIONS": "many"}, ready=False)
    until(lambda: sandbox.inspect("{{.State.Status}}") == "exited")
    assert sandbox.inspect("{{.State.ExitCode}}") == "2"
    assert "MAX_SHELL_SESSIONS must be a whole number from 1 to 1000" in sandbox.logs()


def test_hooks_run_in_their_order_as_the_agent_without_the_sandboxs_secrets(start_sandbox: Start) -> None:
    script = 'echo "$HOOK $(id -un) ${SANDBOX_API_KEY-no key} $GREETING" >>/home/gem/hooks'
    env = {f"RUN_HOOK_{name}": f"HOOK={name}; {script}" for name in ("INIT", "PRE_SERVICES", "POST_READY")}
    sandbox = start_sandbox(env=env | {"GREETING": "hello"})
    until(lambda: "POST_READY ended" in sandbox.logs())
    assert sandbox.run("cat", "/home/gem/hooks").stdout.splitlines() == [
        "INIT gem no key hello",
        "PRE_SERVICES gem no key hello",
        "POST_READY gem no key hello",
    ]


def test_a_hook_that_fails_is_told_and_does_not_stop_the_container(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"RUN_HOOK_INIT": "exit 4"})
    assert "RUN_HOOK_INIT ended with exit code 4" in sandbox.logs()


def test_a_strict_hook_that_fails_stops_the_container(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"RUN_HOOK_PRE_SERVICES": "exit 4", "RUN_HOOKS_STRICT": "true"}, ready=False)
    until(lambda: sandbox.inspect("{{.State.Status}}") == "exited")
    assert sandbox.inspect("{{.State.ExitCode}}") == "3"
    assert "RUN_HOOK_PRE_SERVICES ended with exit code 4" in sandbox.logs()


def test_the_agent_is_whom_the_settings_name_and_owns_its_workspace(start_sandbox: Start) -> None:
    sandbox = start_sandbox(
        env={"USER": "ada", "USER_UID": "1500", "USER_GID": "1600", "WORKSPACE": "/srv/work/here", "TZ": "Europe/Berlin"}
    )
    assert (
        sandbox.exec("stat", "-c", "%U %u %g", "/home/ada", "/home/ada/.bashrc", "/srv/work/here").stdout.splitlines()
        == ["ada 1500 1600"] * 3
    )
    context = sandbox.request("GET", "/v1/sandbox").json()
    assert (context["home_dir"], context["workspace"]) == ("/home/ada", "/srv/work/here")
    assert context["detail"]["system"]["user"] == "ada"
    assert context["detail"]["system"]["timezone"] == "Europe/Berlin"


def test_the_agent_may_become_root_unless_the_settings_forbid_it(sandbox: Sandbox, configured: Sandbox) -> None:
    assert sandbox.run("sudo", "-n", "id", "-u").stdout == "0\n"
    assert configured.run("sudo", "-n", "id", "-u").code != 0


def test_a_disabled_component_does_not_run(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"DISABLE_MCP": "true"})
    assert "mcp" not in processes(sandbox)
    assert sandbox.request("POST", "/mcp", json={}).status_code == 404


def test_the_port_can_be_another_one(configured: Sandbox) -> None:
    assert configured.request("GET", "/v1/sandbox").status_code == 200


def test_without_a_key_boot_makes_one_and_prints_a_link_that_signs_in_once(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"SANDBOX_API_KEY": ""})
    key = sandbox.exec("cat", "/run/sandbox/api-key").stdout.strip()
    assert sandbox.http.get(f"{sandbox.base_url}/v1/sandbox").status_code == 401
    assert sandbox.http.get(f"{sandbox.base_url}/v1/sandbox", headers={"X-AIO-API-Key": key}).status_code == 200
    until(lambda: "?ticket=" in sandbox.logs())
    (line,) = (line for line in sandbox.logs().splitlines() if "?ticket=" in line)
    ticket = parse_qs(urlsplit(line.split()[-1]).query)["ticket"][0]
    page = {"Accept": "text/html"}
    with httpx.Client(base_url=sandbox.base_url, headers=page, follow_redirects=True, timeout=PATIENCE_SECONDS, trust_env=False) as browser:
        assert browser.get("/", params={"ticket": ticket}).status_code == 200
        assert browser.get("/v1/sandbox").status_code == 200
    assert sandbox.http.get(f"{sandbox.base_url}/", params={"ticket": ticket}, headers=page).status_code == 401
    assert key not in sandbox.logs()


def test_no_credential_is_in_any_log(sandbox: Sandbox) -> None:
    ticket = sandbox.request("POST", "/tickets").json()["ticket"]
    for query in ({"api_key": KEY}, {"ticket": ticket}, {"ticket": ticket}):
        sandbox.http.get(f"{sandbox.base_url}/v1/sandbox", params=query)
    sandbox.http.get(f"{sandbox.base_url}/v1/nothing-there", headers={"X-AIO-API-Key": KEY})
    until(lambda: "/v1/nothing-there" in sandbox.logs())
    assert KEY not in sandbox.logs()
    assert ticket not in sandbox.logs()


def test_started_as_an_ordinary_user_it_works_and_says_what_is_lost(start_sandbox: Start) -> None:
    sandbox = start_sandbox(args=["--user", "1234:1234"])
    assert "not started as root" in sandbox.logs()
    assert {user for user, _ in processes(sandbox).values()} - {"root"} == {"1234"}
    assert sandbox.request("GET", "/v1/sandbox").json()["home_dir"] == "/home/gem"
    checks = {check["name"]: check for check in sandbox.request("GET", "/v1/doctor").json()["data"]["checks"]}
    assert checks["separate_users"]["status"] == "lost"
    sandbox.stop()
    assert sandbox.inspect("{{.State.ExitCode}}") == "0", "it was not killed"


def test_a_few_capabilities_are_enough(start_sandbox: Start) -> None:
    needed = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"]
    sandbox = start_sandbox(args=["--cap-drop=ALL", *(f"--cap-add={name}" for name in needed)])
    assert sandbox.request("GET", "/v1/sandbox").json()["detail"]["system"]["user"] == "gem"
    sandbox.stop()
    assert sandbox.inspect("{{.State.ExitCode}}") == "0", "it was not killed"


def test_the_images_own_files_may_be_read_only_and_the_home_a_new_volume(start_sandbox: Start) -> None:
    writable = ("/run", "/tmp", "/var/tmp", "/var/log/gem", "/home/gem")
    sandbox = start_sandbox(args=["--read-only", *(f"--tmpfs={path}" for path in writable)])
    assert sandbox.exec("stat", "-c", "%U", "/home/gem", "/home/gem/.bashrc").stdout.split() == ["gem", "gem"]
    assert sandbox.request("GET", "/v1/sandbox").status_code == 200


@pytest.mark.parametrize("folder", ["/opt/gem", "/opt/tiger/run"])
def test_two_files_add_a_service_and_a_route_behind_the_same_sign_in(start_sandbox: Start, folder: str) -> None:
    files = {
        f"{folder}/supervisord/greeter.conf": GREETER,
        f"{folder}/nginx/greeter.conf": ROUTE,
        "/opt/gem/greeter/greeting.txt": "hello\n",
    }
    sandbox = start_sandbox(files=files)
    until(lambda: sandbox.request("GET", "/greeting").status_code == 200, told=sandbox.logs)
    assert sandbox.request("GET", "/greeting").text == "hello\n"
    assert sandbox.http.get(f"{sandbox.base_url}/greeting").status_code == 401
    user, *environment = sandbox.exec("cat", "/tmp/greeter").stdout.splitlines()
    assert user == "gem"
    assert KEY not in "\n".join(environment)
