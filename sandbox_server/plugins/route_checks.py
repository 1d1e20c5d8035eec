"""Added routes: whether nginx takes them beside the sandbox's own."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sandbox_server.drivers import nginx
from sandbox_server.plugins.check_results import Findings
from sandbox_server.settings import GatewaySettings, Paths

SECONDS = 30


def check(paths: Paths) -> Findings:
    """Have nginx read the whole configuration of the gateway, from a place of its own."""
    files = [str(file) for folder in paths.added for file in sorted(Path(folder, "nginx").glob("*.conf"))]
    found = Findings("routes", added=files)
    if files:
        with tempfile.TemporaryDirectory() as folder:
            found.problems.extend(_refusals(paths, Path(folder)))
    return found


def _refusals(paths: Paths, folder: Path) -> Iterable[str]:
    shutil.copytree(f"{paths.code}/nginx", folder / "nginx")
    for file in (folder / "nginx").rglob("*.conf"):
        file.write_text(file.read_text("utf-8").replace(f"{paths.run}/", f"{folder}/run/"), encoding="utf-8")
    (folder / "run/nginx").mkdir(parents=True)
    (folder / "run/nginx/components").symlink_to(folder / "nginx/components")
    nowhere = GatewaySettings(port=1, ipv4=None, ipv6=None)
    (folder / "run/nginx/listen.conf").write_text(nginx.listen(nowhere, has_ipv6=False), encoding="ascii")
    (folder / "run/nginx/body.conf").write_text(nginx.body(nowhere), encoding="ascii")
    (folder / "run/nginx/origins.conf").write_text(nginx.origins(()), encoding="ascii")
    (folder / "run/nginx/upstreams.conf").write_text(nginx.upstreams({"jupyter": 1, "code-server": 1}), encoding="ascii")
    _listen_on(folder / "run/nginx/listen.conf", folder / "run/public.sock")
    command = ["nginx", "-t", "-q", "-c", str(folder / "nginx/nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        for line in done.stderr.splitlines():
            yield re.sub(r"^nginx: \[\w+\] ", "", line).replace(str(folder), "")


def _listen_on(file: Path, socket: Path) -> None:
    """A port could be taken where this runs."""
    file.write_text(f"{file.read_text()}listen unix:{socket};\n", encoding="ascii")
