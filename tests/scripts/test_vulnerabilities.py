"""`scripts/vulnerabilities` fails where something is found that is not accepted, and where nobody answered. The tools are stand-ins."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
LISTS = ("runtime", "science", "kernel", "jupyterlab")
LOCKS = (".", "devtools", "runtimes", "code-server")
UVLOOP = {"id": "CVE-2026-2000", "fix_versions": ["9.9.9"], "aliases": ["GHSA-aaaa-bbbb-cccc"], "description": "d"}
ADVISORY = {
    "source": 1,
    "name": "ws",
    "title": "t",
    "url": "https://github.com/advisories/GHSA-dddd-eeee-ffff",
    "severity": "high",
    "range": "<99",
}
NO_REPORT = {"message": "405 Method Not Allowed", "statusCode": 405}


def report(*packages: tuple[str, list[Any]]) -> dict[str, Any]:
    """What `npm audit --json` says."""
    found = {name: {"name": name, "severity": "high", "via": via, "range": "<99", "nodes": []} for name, via in packages}
    return {"auditReportVersion": 2, "vulnerabilities": found, "metadata": {}}


class Scan:
    """A repository with stand-ins of the three tools that say what a test wants them to say, each once for all lists."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "scripts").mkdir()
        (folder / "bin").mkdir()
        shutil.copy(REPOSITORY / "scripts" / "vulnerabilities", folder / "scripts")
        for lock in LOCKS:
            (folder / "requirements" / lock).mkdir(parents=True, exist_ok=True)
            for file in ("package.json", "package-lock.json"):
                (folder / "requirements" / lock / file).write_text("{}")
        for name in LISTS:
            (folder / "requirements" / f"{name}.txt").write_text("")
        self.accept()
        self.debian()
        self.python()
        self.npm(report())

    def _tool(self, name: str, body: str) -> None:
        (self.folder / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.folder / "bin" / name).chmod(0o755)

    def debian(self, every: str = "", fixed: str = "", fails: str = "") -> None:
        failure = f"echo '{fails}' >&2; exit 1" if fails else ":"
        self._tool("debsecan", f"{failure}\ncase \"$*\" in *--only-fixed*) printf '{fixed}' ;; *) printf '{every}' ;; esac")

    def python(self, *packages: dict[str, Any]) -> None:
        said = json.dumps({"dependencies": packages, "fixes": []})
        found = any(package.get("vulns") for package in packages)
        self._tool(
            "pip-audit", f"case \"$*\" in *runtime.txt*) echo '{said}'; exit {int(found)} ;; *) echo '{{\"dependencies\": []}}' ;; esac"
        )

    def npm(self, said: dict[str, Any]) -> None:
        self._tool("npm", f"echo '{json.dumps(said)}'; exit {0 if said.get('vulnerabilities') == {} else 1}")

    def accept(self, *entries: str) -> None:
        (self.folder / "requirements" / "accepted.toml").write_text("\n".join(f"[[accepted]]\n{entry}" for entry in entries))

    def run(self) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        command = [str(self.folder / "scripts" / "vulnerabilities"), "/status"]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def scan(tmp_path: Path) -> Scan:
    """A scan that finds nothing."""
    return Scan(tmp_path)


def entry(name: str, package: str, until: str = "2999-01-01") -> str:
    return f'id = "{name}"\npackage = "{package}"\nreason = "not reached"\nuntil = {until}\n'


def test_nothing_found_is_well(scan: Scan) -> None:
    done = scan.run()
    assert done.returncode == 0, done.stderr
    assert "0 to look at, 0 found" in done.stderr


def test_what_each_tool_finds_is_named_and_fails(scan: Scan) -> None:
    scan.debian("CVE-2026-1000 bash\\nCVE-2026-1001 bash\\n", "CVE-2026-1000 bash\\n")
    scan.python({"name": "uvloop", "version": "0.23.0", "vulns": [UVLOOP]})
    scan.npm(report(("ws", [ADVISORY]), ("uses-ws", ["ws"])))
    done = scan.run()
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "vulnerabilities: Debian: 1 that no package of the release mends",
        "vulnerabilities: found CVE-2026-1000 in bash",
        "vulnerabilities: found CVE-2026-2000 (GHSA-aaaa-bbbb-cccc) in uvloop 0.23.0, mended in 9.9.9",
        "vulnerabilities: found GHSA-dddd-eeee-ffff in ws <99",
        f"vulnerabilities: 3 to look at, {2 + len(LOCKS)} found",
    ]


def test_what_is_accepted_by_any_of_its_names_passes(scan: Scan) -> None:
    scan.python({"name": "uvloop", "version": "0.23.0", "vulns": [UVLOOP]})
    scan.accept(entry("GHSA-aaaa-bbbb-cccc", "uvloop"))
    assert scan.run().returncode == 0


def test_an_acceptance_of_another_package_does_not_count(scan: Scan) -> None:
    scan.python({"name": "uvloop", "version": "0.23.0", "vulns": [UVLOOP]})
    scan.accept(entry("CVE-2026-2000", "httptools"))
    done = scan.run()
    assert done.returncode == 1
    assert "found CVE-2026-2000" in done.stderr
    assert "accepted and not found any more: CVE-2026-2000 in httptools" in done.stderr


def test_an_acceptance_ends_with_its_day(scan: Scan) -> None:
    scan.debian("CVE-2026-1000 bash\\n", "CVE-2026-1000 bash\\n")
    scan.accept(entry("CVE-2026-1000", "bash", "2026-01-01"))
    done = scan.run()
    assert done.returncode == 1
    assert "accepted until 2026-01-01: CVE-2026-1000 in bash, because: not reached" in done.stderr


def test_an_acceptance_without_a_reason_is_refused(scan: Scan) -> None:
    scan.accept('id = "CVE-2026-1000"\npackage = "bash"\nreason = ""\nuntil = 2999-01-01\n')
    done = scan.run()
    assert done.returncode == 2
    assert "an entry needs id, package, reason and until" in done.stderr


def test_a_tracker_that_does_not_answer_is_no_clean_scan(scan: Scan) -> None:
    scan.debian(fails="error: Name or service not known")
    done = scan.run()
    assert done.returncode == 2
    assert "could not be asked: debsecan: error: Name or service not known" in done.stderr


def test_packages_that_pip_audit_skips_are_no_clean_scan(scan: Scan) -> None:
    scan.python({"name": "uv", "skip_reason": "Dependency not found on PyPI and could not be audited: uv (0.13.8)"})
    done = scan.run()
    assert done.returncode == 2
    assert "could not be asked: pip-audit: Dependency not found on PyPI" in done.stderr


def test_a_registry_without_advisories_is_no_clean_scan(scan: Scan) -> None:
    scan.npm(NO_REPORT)
    done = scan.run()
    assert done.returncode == 2
    assert "could not be asked: npm: 405 Method Not Allowed" in done.stderr


def test_what_one_tool_finds_is_said_although_another_cannot_be_asked(scan: Scan) -> None:
    scan.debian("CVE-2026-1000 bash\\n", "CVE-2026-1000 bash\\n")
    scan.npm(NO_REPORT)
    done = scan.run()
    assert done.returncode == 2
    assert "found CVE-2026-1000 in bash" in done.stderr


def test_the_repositorys_own_list_can_be_read_and_each_scanned_list_is_there(scan: Scan) -> None:
    shutil.copy(REPOSITORY / "requirements" / "accepted.toml", scan.folder / "requirements")
    assert scan.run().returncode in {0, 1}
    assert all((REPOSITORY / "requirements" / f"{name}.txt").is_file() for name in LISTS)
    assert all((REPOSITORY / "requirements" / lock / "package-lock.json").is_file() for lock in LOCKS)
