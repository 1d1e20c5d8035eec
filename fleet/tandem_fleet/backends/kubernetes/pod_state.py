"""What the cluster's objects say of a sandbox."""

from datetime import datetime
from typing import Any

from tandem_fleet.backends.backend import Found, Phase
from tandem_fleet.backends.kubernetes.client import Object
from tandem_fleet.backends.kubernetes.objects import PAUSED, PORT, STARTED, spec_of
from tandem_fleet.sandboxes import ID_LABEL, NAME_LABEL, TENANT_LABEL

_OVER = ("Succeeded", "Failed")


def is_over(pod: Object) -> bool:
    """Whether the Pod's programs have ended for good."""
    return _status(pod).get("phase") in _OVER


def is_ending(pod: Object) -> bool:
    """Whether somebody has deleted it, and its programs are given time to end."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_paused(pod: Object) -> bool:
    """Whether its programs were halted."""
    return (pod["metadata"].get("annotations") or {}).get(PAUSED) == "true"


def address(pod: Object) -> str:
    """Where its gateway is; empty as long as its container does not run."""
    ip = str(_status(pod).get("podIP") or "")
    if not ip or "running" not in _container(pod).get("state", {}):
        return ""
    return f"http://[{ip}]:{PORT}" if ":" in ip else f"http://{ip}:{PORT}"


def reason(pod: Object) -> str:
    """Why it ended, or why it does not start yet."""
    status, state = _status(pod), _container(pod).get("state") or {}
    ended, waiting = state.get("terminated") or {}, state.get("waiting") or {}
    if is_over(pod):
        if status.get("reason"):  # the node's, as Evicted
            return f"{status['reason']}: {status.get('message', '')}".strip(": ")
        why = f" ({ended['reason']})" if ended.get("reason") not in (None, "Error", "Completed") else ""
        return f"it ended with exit code {ended['exitCode']}{why}" if "exitCode" in ended else "it ended"
    if waiting.get("message"):
        return f"{waiting.get('reason')}: {waiting['message']}"
    unscheduled = [one for one in status.get("conditions") or () if one.get("type") == "PodScheduled" and one.get("status") == "False"]
    return str(unscheduled[0].get("message") or "") if unscheduled else ""


def found(secret: Object, pod: Object | None) -> Found | None:
    """The sandbox of a Secret and its Pod, if it has one; None where the Secret is not whole."""
    metadata = secret["metadata"]
    annotations = metadata.get("annotations") or {}
    try:
        spec = spec_of(secret)
        words: dict[str, Any] = {"id": metadata["labels"][ID_LABEL], "name": annotations[NAME_LABEL], "tenant": annotations[TENANT_LABEL]}
    except (KeyError, ValueError):
        return None
    return Found(
        **words,
        spec=spec,
        phase=_phase(pod, started=annotations.get(STARTED) == "true"),
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        address=address(pod) if pod and not is_over(pod) else "",
        reason=reason(pod) if pod else "",
    )


def _phase(pod: Object | None, *, started: bool) -> Phase:
    if pod is None:
        return Phase.STOPPED if started else Phase.CREATED
    if is_over(pod):
        return Phase.STOPPED
    return Phase.PAUSED if is_paused(pod) else Phase.RUNNING


def _status(pod: Object) -> Object:
    status: Object = pod.get("status") or {}
    return status


def _container(pod: Object) -> Object:
    """The status of its first container."""
    listed = _status(pod).get("containerStatuses") or [{}]
    first: Object = listed[0]
    return first
