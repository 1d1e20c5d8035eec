"""What people's programs do under a policy that names their hosts, and what they say where it does not: git, pip, npm and apt.

Over TLS they go to the hosts of the named sets, by the programs' own defaults. On the network of the tests these names
are a server's that has certificates of an authority which the container trusts, as a company's image does.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.image.conftest import new_launcher
from tests.image.egress_peers import POLICY_FILE, EgressHosts, Peer
from tests.patience import until

HOSTS = ("git.example", "index.example", "registry.example", "deb.example")

SERVED = r"""
export HOME=/tmp
git init -q --bare repo.git
git init -q work && cd work && echo cloned > file && git add . && git -c user.name=a -c user.email=a@b.example commit -qm one
git push -q ../repo.git HEAD:refs/heads/main && cd ..
git -C repo.git symbolic-ref HEAD refs/heads/main && git -C repo.git update-server-info
mkdir demo && cp -r repo.git demo/

mkdir -p simple/demo && python3 - <<'PROGRAM'
import base64, hashlib, io, json, tarfile, zipfile
info = "demo-1.0.dist-info"
files = {
    "demo.py": "print('from the index')\n",
    f"{info}/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
with zipfile.ZipFile("simple/demo/demo-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
    wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]))

packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w:gz") as archive:
    for name, text in (("package.json", '{"name": "demo-1", "version": "1.0.0"}'), ("index.js", "console.log('from the registry')")):
        member = tarfile.TarInfo(f"package/{name}")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
open("demo-1.0.0.tgz", "wb").write(packed.getvalue())
digest = hashlib.sha1(packed.getvalue()).hexdigest()
for place, host in (("plain", "http://registry.example"), ("demo-1", "https://registry.npmjs.org")):
    version = {"name": place, "version": "1.0.0", "dist": {"tarball": f"{host}/demo-1.0.0.tgz", "shasum": digest}}
    open(place, "w").write(json.dumps({"name": place, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}))
PROGRAM

mkdir -p tree/DEBIAN tree/usr/local/share/demo deb && echo 'from the archive' > tree/usr/local/share/demo/text
printf 'Package: demo\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@b.example>\nDescription: a demo\n' > tree/DEBIAN/control
dpkg-deb --root-owner-group --build tree deb/demo_1.0_all.deb >/dev/null && cd deb
{ cat ../tree/DEBIAN/control; echo "Filename: ./demo_1.0_all.deb"; echo "Size: $(stat -c %s demo_1.0_all.deb)"
  echo "SHA256: $(sha256sum demo_1.0_all.deb | cut -d' ' -f1)"; } > Packages
{ echo "Suite: stable"; echo "Date: $(date -Ru)"; echo "SHA256:"
  echo " $(sha256sum Packages | cut -d' ' -f1) $(stat -c %s Packages) Packages"; } > Release
"""

GIT = "rm -rf clone; git clone -q http://{host}/repo.git clone 2>&1; cat clone/file"
PIP = (
    "rm -rf site; python3 -m pip install -q --no-cache-dir --retries 0 --disable-pip-version-check --target site --trusted-host {host}"
    " --index-url http://{host}/simple demo 2>&1; PYTHONPATH=site python3 -m demo"
)
NPM = (
    "rm -rf node && mkdir node && cd node; "
    "npm install --cache ./cache --fetch-retries 0 --no-audit --no-fund --registry http://{host} plain 2>&1;"
    " node node_modules/plain/index.js"
)
APT = (
    "echo 'deb [trusted=yes] {url}/deb ./' > demo.list; mkdir -p lists/partial;"
    ' options="-q -o Acquire::Retries=0 -o Dir::Etc::SourceList=$PWD/demo.list";'
    ' options="$options -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$PWD/lists";'
    " apt-get $options update 2>&1; apt-get $options -y install demo 2>&1; cat /usr/local/share/demo/text"
)
NAMED = ("pypi.org", "registry.npmjs.org", "deb.debian.org", "github.com")
"""Hosts of the named sets."""
SECURE_GIT = "rm -rf clone; git clone -q https://github.com/git/demo/repo.git clone 2>&1; cat clone/file"
SECURE_PIP = (
    "rm -rf site; python3 -m pip install -q --no-cache-dir --retries 0 --disable-pip-version-check --target site demo 2>&1;"
    " PYTHONPATH=site python3 -m demo"
)
SECURE_NPM = (
    "rm -rf node && mkdir node && cd node; export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt;"
    " npm install --cache ./cache --fetch-retries 0 --no-audit --no-fund demo-1 2>&1; node node_modules/demo-1/index.js"
)
SECURE_APT = APT.replace("{url}", "https://deb.debian.org")
READ_ALONE = [
    "/git/demo/repo.git/info/refs",
    "/git/demo/repo.git/HEAD",
    "/git/demo/repo.git/git-upload-pack",
    "/git/demo/repo.git/objects/**",
]
"""What git asks for that fetches, and not what it asks for that pushes."""
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


@pytest.fixture(scope="module")
def hosts() -> Iterator[EgressHosts]:
    """A sandbox, the host of all registries, and one with the same content that no rule names."""
    launcher = new_launcher("egress-programs")
    try:
        peer, witness = Peer(launcher, "peer", *HOSTS, *NAMED), Peer(launcher, "witness", "other.example")
        for one in (peer, witness):
            one.shell(SERVED)
        trusted = peer.read(BUNDLE) + peer.read("/tmp/authority.pem")
        files = {POLICY_FILE: json.dumps(policy(peer)), BUNDLE: trusted}
        yield EgressHosts(launcher.start(env={"EGRESS_POLICY": POLICY_FILE}, files=files), peer, witness)
    finally:
        launcher.remove()


@contextmanager
def policy_in_force(hosts: EgressHosts, document: object) -> Iterator[None]:
    """Another policy for a while."""

    def put(wanted: object) -> None:
        reply = hosts.sandbox.request("PUT", "/v1/egress/policy", json=wanted, headers={"If-Match": "*"})
        assert reply.status_code == 200, reply.text

    put(document)
    try:
        yield
    finally:
        put(policy(hosts.peer))


def policy(peer: Peer, *rules: object) -> dict[str, object]:
    """Rules that name the programs' hosts, behind others."""
    named = [
        {"name": "packages", "action": "allow", "hosts": list(HOSTS), "ports": [80]},
        {"name": "sets", "action": "allow", "sets": ["pypi", "npm", "debian", "github"]},
        {"name": "its address", "action": "allow", "cidrs": [f"{peer.address}/32"], "ports": [80, 443]},
    ]
    return {"default": "deny", "rules": [*rules, *named]}


@pytest.mark.parametrize(
    ("program", "host", "shown", "user"),
    [
        pytest.param(GIT, "git.example", "cloned", "gem", id="git"),
        pytest.param(PIP, "index.example", "from the index", "gem", id="pip"),
        pytest.param(NPM, "registry.example", "from the registry", "gem", id="npm"),
        pytest.param(APT.replace("{url}", "http://{host}"), "deb.example", "from the archive", "root", id="apt"),
    ],
)
def test_programs_work_where_the_policy_names_their_hosts_and_are_refused_elsewhere(
    hosts: EgressHosts, program: str, host: str, shown: str, user: str
) -> None:
    hosts.witness.forget()
    folder = f"mkdir -p /tmp/plain-{user} && cd /tmp/plain-{user};"
    before = hosts.denied("other.example")
    assert shown not in hosts.run(folder + program.replace("{host}", "other.example"), user)
    until(lambda: hosts.denied("other.example") > before)
    said = hosts.run(folder + program.replace("{host}", host), user)
    assert shown in said, said
    assert hosts.witness.heard() == []


@pytest.mark.parametrize(
    ("program", "host", "shown", "user"),
    [
        pytest.param(SECURE_GIT, "github.com", "cloned", "gem", id="git"),
        pytest.param(SECURE_PIP, "pypi.org", "from the index", "gem", id="pip"),
        pytest.param(SECURE_NPM, "registry.npmjs.org", "from the registry", "gem", id="npm"),
        pytest.param(SECURE_APT, "deb.debian.org", "from the archive", "root", id="apt"),
    ],
)
def test_programs_work_over_tls_with_their_own_hosts_by_named_sets(
    hosts: EgressHosts, program: str, host: str, shown: str, user: str
) -> None:
    script = f"dpkg --purge demo >/dev/null 2>&1; mkdir -p /tmp/{user} && cd /tmp/{user}; {program}"
    hosts.peer.forget()
    before = hosts.denied(host)
    with policy_in_force(hosts, {"default": "deny"}):
        assert shown not in hosts.run(script, user)
        until(lambda: hosts.denied(host) > before)
        assert hosts.peer.heard() == []
    said = hosts.run(script, user)
    assert shown in said, said
    heard = hosts.peer.heard()
    assert [request for request in heard if request.startswith(f"GET {host} ")]
    assert "connection to 80" not in heard

    def listed() -> list[tuple[str, str, str]]:
        latest = hosts.sandbox.request("GET", "/v1/egress/connections", params={"host": host, "limit": 1}).json()["data"]
        return [(each["action"], each["rule"], each["protocol"]) for each in latest]

    until(lambda: listed() == [("allow", "sets", "tls")])  # it is told behind the program's end


def test_a_host_that_may_be_read_cannot_be_written_to(hosts: EgressHosts) -> None:
    """TLS is opened for a host whose rule compares paths: git clones and does not push."""
    read_alone = {"name": "read", "action": "allow", "hosts": ["github.com"], "ports": [443], "paths": READ_ALONE}
    nothing_else = {"name": "no other request", "action": "deny", "hosts": ["github.com"]}
    clone = f"mkdir -p /tmp/reader && cd /tmp/reader; {SECURE_GIT}"
    push = """cd /tmp/reader/clone; echo more >> file; git -c user.name=a -c user.email=a@b.example commit -qam more 2>&1
              git push origin HEAD:refs/heads/other 2>&1"""
    with policy_in_force(hosts, policy(hosts.peer, read_alone, nothing_else)):
        until(lambda: "cloned" in hosts.run(clone, "gem"), told=lambda: hosts.run(clone, "gem"))  # once the authority is trusted
        hosts.peer.forget()
        assert "403" in (said := hosts.run(push, "gem")), said
        hidden = "curl -sS -m 20 -H 'Host: other.example' https://github.com/git/demo/repo.git/HEAD"
        assert "refs/heads" not in (said := hosts.run(hidden, "gem")), said
        assert not [request for request in hosts.peer.heard() if request.startswith("POST") or "other.example" in request]
    assert "new branch" in (said := hosts.run(push, "gem")), said
