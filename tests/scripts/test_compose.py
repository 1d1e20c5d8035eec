"""The compose file starts the container as `make run` does."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent


def service() -> dict[str, Any]:
    given: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]["sandbox"]
    return given


def test_the_flags_of_the_box_are_those_of_make_run() -> None:
    run = (ROOT / "scripts" / "run").read_text()
    assert "seccomp=deploy/seccomp/tandem.json" in run
    assert service()["security_opt"] == ["seccomp=./seccomp/tandem.json", "systempaths=unconfined"]
    assert all(f"--cap-drop {name}" in run for name in service()["cap_drop"])
    for flag, name in (("pids-limit", "pids_limit"), ("shm-size", "shm_size")):
        found = re.search(rf"--{flag} (\S+)", run)
        assert found
        assert found[1] == str(service()[name])
    stop = re.search(r"--stop-timeout (\d+)", run)
    assert stop
    assert service()["stop_grace_period"] == f"{stop[1]}s"


def test_the_profile_is_where_the_file_says() -> None:
    assert (ROOT / "deploy" / "seccomp" / "tandem.json").is_file()


def test_nothing_of_the_host_is_mounted_and_only_loopback_is_published() -> None:
    assert all(not volume.startswith((".", "/", "~")) for volume in service()["volumes"])
    assert all(port.startswith("127.0.0.1:") for port in service()["ports"])
