"""The profile for kubelet allows what the engine's does in our container, and nothing that the engine's only allows with more rights."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent.parent / "deploy" / "seccomp"
SPECIFICATION = {"names", "action", "errnoRet", "args"}
"""What the OCI runtime specification knows of a rule; what else is in one, containerd ignores."""


def profile(name: str) -> dict[str, Any]:
    given: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return given


def allowed(name: str) -> set[str]:
    """The calls that a profile allows, however their arguments are."""
    return {call for rule in profile(name)["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for call in rule["names"]}


def test_the_profile_for_kubelet_has_no_condition_that_containerd_would_ignore() -> None:
    assert set(profile("kubernetes")) == {"defaultAction", "defaultErrnoRet", "architectures", "syscalls"}
    assert all(set(rule) <= SPECIFICATION for rule in profile("kubernetes")["syscalls"])
    assert profile("kubernetes")["defaultAction"] == "SCMP_ACT_ERRNO"


@pytest.mark.parametrize(
    "call", ["bpf", "perf_event_open", "init_module", "kcmp", "open_by_handle_at", "quotactl", "reboot", "settimeofday", "syslog"]
)
def test_a_call_that_the_engine_allows_with_more_rights_alone_is_refused(call: str) -> None:
    assert call in allowed("tandem")
    assert call not in allowed("kubernetes")


def test_what_the_box_and_chromium_need_is_allowed() -> None:
    assert {"clone", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "ptrace"} <= allowed("kubernetes")
    refused = [rule for rule in profile("kubernetes")["syscalls"] if rule["action"] == "SCMP_ACT_ERRNO"]
    assert {call for rule in refused for call in rule["names"]} >= {"clone3", "fsopen", "move_mount"}
    assert {rule["errnoRet"] for rule in refused} == {38}


def test_both_profiles_are_for_both_architectures_of_the_image() -> None:
    machines = {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}
    assert machines <= {entry["architecture"] for entry in profile("tandem")["archMap"]}
    assert machines <= set(profile("kubernetes")["architectures"])
    assert {"arch_prctl", "sync_file_range2"} <= allowed("kubernetes")
