"""Hooks and services on a home that a hostile agent wrote in an earlier run: nothing in it is believed beside the agent."""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import KEY, Sandbox
from tests.patience import until

Start = Callable[..., Sandbox]

TRAP = """#!/bin/bash
# trap NAME: note who has run it, and whether that is beside the agent's box or could write the host's settings.
where=inside
[ -e /run/sandbox ] && where=beside
/usr/bin/sudo -n /usr/bin/test -w /proc/sys/kernel/core_pattern 2>/dev/null && where=host
/usr/bin/test -w /proc/sys/kernel/core_pattern && where=host
echo "$1 $(/usr/bin/id -un) $where" >>"/tmp/trapped-$1-$(/usr/bin/id -un)"
"""
SHADOW = '#!/bin/bash\n/home/gem/trap {name}\nPATH=/usr/local/bin:/usr/bin:/bin exec {name} "$@"\n'
SHADOWS = ("cat", "dbus-daemon", "git", "haproxy", "mkdir", "node", "openbox", "pulseaudio", "readlink", "rm", "sleep", "Xvfb", "xdg-open")
PYTHON = "import os\nos.system('/home/gem/trap {name}')\n"
PACKAGES = "/home/gem/.local/lib/python3.13/site-packages"
SERVICE = "[D-BUS Service]\nName=org.freedesktop.{name}\nExec=/home/gem/trap bus\n"
LAUNCHER = "[Desktop Entry]\nType=Application\nName=trap\nExec=/home/gem/trap autostart\n"
PULSE = "autospawn = yes\ndaemon-binary = /home/gem/trap-sound\nextra-arguments =\n"
GIT = "[core]\n fsmonitor = /home/gem/trap fsmonitor; false\n hooksPath = /home/gem/githooks\n[init]\n templateDir = /home/gem/githooks\n"
FILES = {
    "trap": TRAP,
    "trap-sound": "#!/bin/sh\nexec /home/gem/trap sound\n",
    ".bashrc": "/home/gem/trap bashrc\n",
    ".bash_profile": "/home/gem/trap bash_profile\n",
    ".profile": "/home/gem/trap profile\n",
    ".pam_environment": "LD_PRELOAD DEFAULT=/home/gem/trap.so\nBASH_ENV DEFAULT=/home/gem/.bashrc\n",
    ".gitconfig": GIT,
    "githooks/post-checkout": "#!/bin/sh\nexec /home/gem/trap post-checkout\n",
    "pkg/package.json": json.dumps({"name": "pkg", "version": "1.0.0", "scripts": {"build": "/home/gem/trap npm"}}),
    ".config/pulse/client.conf": PULSE,
    ".config/autostart/trap.desktop": LAUNCHER,
    ".config/openbox/autostart": "/home/gem/trap openbox-autostart\n",
    ".local/share/dbus-1/services/a.service": SERVICE.format(name="Notifications"),
    ".local/share/dbus-1/services/b.service": SERVICE.format(name="portal.Desktop"),
    ".local/share/dbus-1/services/c.service": SERVICE.format(name="secrets"),
    **{f".local/bin/{name}": SHADOW.format(name=name) for name in SHADOWS},
}
HOMED = {f"/home/gem/{name}": text for name, text in FILES.items()}
HOMED |= {f"{PACKAGES}/{name}.py": PYTHON.format(name=name) for name in ("usercustomize", "sitecustomize")}
HOMED |= {f"{PACKAGES}/trap.pth": "import os; os.system('/home/gem/trap pth')\n"}

HOOK = """python3 -c pass; bash -lc true; bash -ic true; cat /dev/null; cd ~ && git init -q repo; cd repo && git status >/dev/null
git commit -q --allow-empty -m x; git checkout -q -b y; cd ~/pkg && npm run build; sudo -n true; sudo -n python3 -c pass; rm -f /tmp/x
echo hook-is-done
"""
SPRUNG_BY_THE_HOOK = {"usercustomize", "pth", "bash_profile", "bashrc", "cat", "git", "npm", "rm"}


@pytest.fixture(scope="module", params=["box", "users", "none"])
def trapped(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A container at that isolation level whose home was written by an earlier run, and whose hooks walk into it."""
    launcher = new_launcher(f"trapped-{request.param}")
    env = {"RUN_HOOK_INIT": HOOK, "RUN_HOOK_PRE_SERVICES": HOOK, "BOX": "on" if request.param == "box" else "off"}
    args = ["--volume=/home/gem", *(["--user=1000:1000"] if request.param == "none" else [])]
    try:
        sandbox = launcher.start(env=env, args=args, files=HOMED)
        assert sandbox.request("GET", "/v1/capabilities").json()["data"]["rung"] == request.param
        yield sandbox
    finally:
        launcher.remove()


def sprung(sandbox: Sandbox) -> set[tuple[str, str, str]]:
    """Every trap that was sprung: its name, who ran it, and where; as the box and the container tell."""
    look = "cat /tmp/trapped-* 2>/dev/null; true"
    told = sandbox.run("sh", "-c", look).stdout + sandbox.exec("sh", "-c", look).stdout
    return {(name, user, where) for name, user, where in (line.split() for line in told.splitlines())}


@pytest.mark.slow
def test_hooks_run_and_walk_into_what_an_earlier_run_left(trapped: Sandbox) -> None:
    assert trapped.logs().count("hook-is-done") >= 2
    assert {name for name, _, _ in sprung(trapped)} >= SPRUNG_BY_THE_HOOK


@pytest.mark.slow
def test_what_an_earlier_run_left_runs_as_nobody_but_the_agent(trapped: Sandbox) -> None:
    trapped.exec(
        "sh", "-c", "kill -9 $(pgrep -f 'nginx: master|Xvfb|pulseaudio|dbus-daemon|haproxy -W|openbox|sandbox_server (mcp|stream)')"
    )
    trapped.wait_ready()
    trapped.request("POST", "/v1/browser/restart", json={})
    trapped.wait_ready()
    found = sprung(trapped)
    level = trapped.request("GET", "/v1/capabilities").json()["data"]["rung"]
    assert "host" not in {where for _, _, where in found}, found
    if level == "box":
        assert {user for _, user, _ in found} <= {"gem", "root"}, found
        assert {where for _, _, where in found} == {"inside"}, found
    else:
        assert {user for _, user, _ in found} == {"gem"}, found


def test_what_hooks_are_for_works_in_the_box(start_sandbox: Start) -> None:
    install = """set -e
        mkdir -p /tmp/p/DEBIAN /tmp/p/usr/bin
        printf 'Package: hooked\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b.c>\\nDescription: x\\n' >/tmp/p/DEBIAN/control
        printf '#!/bin/sh\\necho installed\\n' >/tmp/p/usr/bin/hooked; chmod 755 /tmp/p/usr/bin/hooked
        dpkg-deb --root-owner-group --build /tmp/p /tmp/hooked.deb >/dev/null; sudo dpkg -i /tmp/hooked.deb
        git config --global user.name Ada; echo kept >~/note"""
    service = "cd /srv && sudo touch here && (python3 -m http.server 9111 >/dev/stdout 2>&1 &)"
    hooks = {"RUN_HOOK_INIT": install, "RUN_HOOK_PRE_SERVICES": service, "RUN_HOOKS_STRICT": "true"}
    sandbox = start_sandbox(env={"BOX": "on", "BROWSER_START": "lazy", **hooks})
    assert sandbox.run("hooked").stdout == "installed\n"
    assert sandbox.run("sh", "-c", "git config user.name; cat ~/note; stat -c %U ~/note").stdout == "Ada\nkept\ngem\n"
    until(lambda: "here" in sandbox.run("curl", "-s", "http://127.0.0.1:9111/").stdout)
    assert sandbox.exec("sh", "-c", "command -v hooked").code != 0, "it is the box's, not the container's"


def test_services_wait_for_the_hooks_and_a_hook_that_hangs_has_its_time(start_sandbox: Start) -> None:
    sandbox = start_sandbox(env={"RUN_HOOK_INIT": "echo begun; sleep 600", "RUN_HOOKS_TIMEOUT": "15"}, ready=False)
    until(lambda: "begun" in sandbox.logs())
    assert not sandbox.answers("/healthz")
    sandbox.wait_ready()
    assert "RUN_HOOK_INIT was killed after 15 seconds" in sandbox.logs()


@pytest.mark.parametrize("args", [[], ["--user=1234:1234"]], ids=["root", "somebody"])
def test_no_process_that_lives_on_has_a_key_in_its_environment(sandbox: Sandbox, start_sandbox: Start, args: list[str]) -> None:
    checked = start_sandbox(args=args) if args else sandbox
    look = f"for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -q {KEY[:-1]}[{KEY[-1]}] && cat $p/comm; done; true"
    found: set[str] = set()
    for uid in ("root", "control", "desktop", "gem") if not args else ("1234",):  # whom the kernel lets read whose
        looked = checked.exec("env", "-u", "SANDBOX_API_KEY", "sh", "-c", look, user=uid)
        found |= set(looked.stdout.split())
    assert found <= {"sh", "tr", "grep", "env", "curl"}, "what the engine starts has the container's environment"
    assert "SANDBOX_API_KEY" not in checked.exec("env", "-u", "SANDBOX_API_KEY", "cat", "/proc/1/environ").stdout
    assert checked.exec("sh", "-c", "wc -c </proc/1/fd/3 2>/dev/null || echo 0").stdout.strip() == "0"
