"""Secrets in the running image: a program of the box uses an API with a placeholder, and the value is nowhere in the box."""

import re
from collections.abc import Iterator

import pytest

from tests.image.brokered import HOST, OTHER, VARIABLE, Brokered, brokered_sandbox
from tests.patience import until

SCAN = """
import os, re, sys
wanted = [each[::-1].encode() for each in sys.argv[1:]]
found, processes, files = [], 0, 0
mine = {os.getpid()}
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) in mine:
        continue
    try:
        for name in ("environ", "cmdline"):
            content = open(f"/proc/{pid}/{name}", "rb").read()
            found += [f"/proc/{pid}/{name}"] * any(each in content for each in wanted)
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                begin, end = (int(each, 16) for each in line.split()[0].split("-"))
                if " r" in line[:40] and end - begin < 1 << 30 and "[v" not in line:
                    try:
                        memory.seek(begin)
                        content = memory.read(end - begin)
                    except (OSError, OverflowError, ValueError):
                        continue
                    found += [f"/proc/{pid}/mem {line.split()[-1]}"] * any(each in content for each in wanted)
        processes += 1
    except OSError:
        continue
for folder, folders, names in os.walk("/"):
    folders[:] = [each for each in folders if os.path.join(folder, each) not in ("/proc", "/sys", "/dev", "/usr", "/opt")]
    for name in names:
        path = os.path.join(folder, name)
        try:
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    content = file.read(64 << 20)
                files += 1
                found += [path] * any(each in content for each in wanted)
        except OSError:
            continue
print(processes > 3, files > 300, found)
"""


@pytest.fixture(scope="module")
def brokered() -> Iterator[Brokered]:
    """One sandbox for all tests here."""
    yield from brokered_sandbox()


def test_a_program_uses_an_api_with_the_placeholder(brokered: Brokered) -> None:
    said = brokered.run('echo "$TOKEN"; curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://api.example/v1/me')
    assert said.startswith(brokered.placeholder), said
    assert brokered.last()["headers"]["Authorization"] == f"Bearer {brokered.token}"  # type: ignore[index]
    assert brokered.token not in said
    assert "*" * len(brokered.token) in said


@pytest.mark.parametrize(
    "program",
    [
        "python3 -c \"import os, urllib.request as u; r = u.Request('https://api.example/v1/py',"
        " headers={'X-Key': os.environ['TOKEN']}); print(u.urlopen(r, timeout=20).status)\"",
        "node -e \"fetch('https://api.example/v1/node', {headers: {'X-Key': process.env.TOKEN}}).then(r => console.log(r.status))\"",
        "python3 -c \"import os, requests; print(requests.get('https://api.example/v1/requests', headers={'X-Key': os.environ['TOKEN']},"
        ' timeout=20).status_code)"',
        'git -c http.extraHeader="X-Key: $TOKEN" ls-remote https://api.example/v1/git 2>&1; echo 200',
    ],
    ids=["python", "node", "requests", "git"],
)
def test_programs_trust_the_authority_without_a_flag(brokered: Brokered, program: str) -> None:
    said = brokered.run(program)
    assert "200" in said, said
    assert brokered.last()["headers"]["X-Key"] == brokered.token  # type: ignore[index]


def test_a_variable_of_the_container_becomes_a_placeholder(brokered: Brokered) -> None:
    said = brokered.run(f'echo "${VARIABLE}"; curl -sS -m 20 -H "X-Key: ${VARIABLE}" https://api.example/declared/x')
    assert said.startswith("tandem_DECLARED_")
    assert brokered.declared not in said
    assert brokered.last()["headers"]["X-Key"] == brokered.declared  # type: ignore[index]


def test_another_host_and_another_path_get_the_placeholder(brokered: Brokered) -> None:
    for url in (f"https://{OTHER}/v1/x", f"https://{HOST}/v2/x"):
        brokered.run(f'curl -skS -m 20 -H "X-Key: $TOKEN" {url}')
        assert brokered.last()["headers"]["X-Key"] == brokered.placeholder  # type: ignore[index]


def test_the_host_of_another_certificate_keeps_it(brokered: Brokered) -> None:
    assert "peer-ca" in brokered.run(f"curl -svk -m 20 https://{OTHER}/ 2>&1 | grep issuer")
    assert "Tandem" in brokered.run(f"curl -sv -m 20 https://{HOST}/v1/x 2>&1 | grep issuer")


def test_an_audit_names_the_secret_and_never_its_value(brokered: Brokered) -> None:
    brokered.run(f'curl -sS -m 20 -H "X-Key: $TOKEN" https://{HOST}/v1/audited')
    events = ""

    def recorded() -> bool:
        nonlocal events
        events = brokered.sandbox.request("GET", "/v1/recorder/events", params={"kind": "egress", "limit": "500"}).text
        return "/v1/audited" in events

    until(recorded, told=lambda: events[:2000])
    assert '"secret":"TOKEN"' in re.sub(r"\s", "", events)
    everything = brokered.sandbox.request("GET", "/v1/recorder/events", params={"limit": "1000"}).text + brokered.sandbox.logs()
    assert brokered.token not in everything
    assert brokered.declared not in everything
    assert next(each for each in brokered.listed() if each["name"] == "TOKEN")["last_used"]


def test_a_scan_of_the_boxs_memory_and_files_as_root_finds_it_nowhere(brokered: Brokered) -> None:
    brokered.run(f'curl -sS -m 20 -H "Authorization: Bearer $TOKEN" https://{HOST}/v1/echo > /tmp/answer; env > /tmp/env')
    reversed_values = [brokered.token[::-1], brokered.declared[::-1]]
    done = brokered.sandbox.run("python3", "-c", SCAN, *reversed_values, user="root")
    assert done.stdout.strip() == "True True []", done.stdout + done.stderr
    found = brokered.sandbox.run("bash", "-c", "grep -rl 'PRIVATE KEY' /run /etc/ssl /tmp 2>/dev/null; true", user="root")
    assert found.stdout == ""


def test_the_egress_process_cannot_be_looked_into(brokered: Brokered) -> None:
    pid = brokered.sandbox.exec("pgrep", "-f", "sandbox_server egress").stdout.split()[0]
    assert brokered.sandbox.exec("stat", "-c", "%U", f"/proc/{pid}/mem").stdout.strip() == "root"
    assert brokered.sandbox.exec("cat", f"/proc/{pid}/maps", user="egress").code != 0


def test_a_secret_is_filled_into_a_page_of_its_origin_and_no_answer_shows_it(brokered: Brokered) -> None:
    sandbox = brokered.sandbox
    sandbox.show(f"https://{HOST}/page")  # Chromium has run since before the authority was made

    def fill(selector: str) -> tuple[int, str]:
        reply = brokered.fill("TOKEN", selector)
        return reply.status_code, reply.text

    assert fill("#pw")[0] == 200
    assert fill("#user")[0] == 200
    for expression in ("document.querySelector('#pw').value.length", "document.querySelector('#user').value"):
        reply = sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": expression})
        assert str(len(brokered.token)) in reply.text or "(hidden)" in reply.text
        assert brokered.token not in reply.text
    assert fill("#none")[0] == 409
    sandbox.show("about:blank")
    status, said = fill("#pw")
    assert (status, brokered.token in said) == (409, False)
    assert "other_origin" in said


def test_a_secret_outlives_each_of_the_processes_that_hold_it(brokered: Brokered) -> None:
    for program in ("egress", "api"):
        pid = brokered.sandbox.exec("pgrep", "-f", f"sandbox_server {'serve' if program == 'api' else program}").stdout.split()[0]
        assert brokered.sandbox.exec("kill", "-9", pid).code == 0

        def works() -> bool:
            brokered.sandbox.run("sh", "-c", f'curl -sS -m 10 -H "X-Key: $TOKEN" https://{HOST}/v1/again')
            return brokered.last()["headers"].get("X-Key") == brokered.token  # type: ignore[attr-defined, no-any-return]

        until(lambda: brokered.sandbox.request("GET", "/v1/secrets").status_code == 200)
        until(works)


def test_a_removed_secret_is_put_into_nothing(brokered: Brokered) -> None:
    brokered.put("GONE", value="gone-secret-value", bindings=[{"hosts": [HOST]}])
    assert brokered.sandbox.request("DELETE", "/v1/secrets/GONE").status_code == 200
    placeholder = "tandem_GONE_"
    brokered.run(f'curl -sS -m 20 -H "X-Key: {placeholder}" https://{HOST}/v1/x')
    assert brokered.last()["headers"]["X-Key"] == placeholder  # type: ignore[index]
    assert brokered.sandbox.request("DELETE", "/v1/secrets/GONE").status_code == 404
    assert brokered.sandbox.request("DELETE", "/v1/secrets/DECLARED").status_code == 400
