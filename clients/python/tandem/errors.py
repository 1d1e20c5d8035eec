"""Why a call failed."""

from collections.abc import Mapping
from typing import Any


class TandemError(Exception):
    """Any failure of this package."""


class Unreachable(TandemError):
    """Nobody answers at the address, or the connection broke."""


class CommandFailed(TandemError):
    """A command exited otherwise than with 0."""

    def __init__(self, command: str, exit_code: int | None, output: str) -> None:
        super().__init__(f"{command!r} exited with {exit_code}: {output.strip()[-2000:]}")
        self.command = command
        self.exit_code = exit_code
        self.output = output


class ApiError(TandemError):
    """The sandbox answered with a failure: `status`, `message`, `hint`, `data` (the values in the message by name), `request_id`."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        given: Mapping[str, Any] = body if isinstance(body, dict) else {"message": str(body)[:2000]}
        detail = given.get("message") or given.get("detail") or given.get("error") or "no reason was given"
        self.status = status
        self.message = str(detail)
        self.hint: str | None = given.get("hint")
        self.data: Mapping[str, Any] = given["data"] if isinstance(given.get("data"), dict) else {}
        self.request_id = headers.get("x-request-id", "")
        super().__init__(f"{self.message} (HTTP {status}){f'. {self.hint}' if self.hint else ''}")
        self.retry_after = _seconds(headers.get("retry-after", ""))

    @property
    def reason(self) -> str:
        """A word for it, or nothing."""
        return str(self.data.get("reason", ""))

    @property
    def epoch(self) -> int | None:
        """The epoch of control, which grows whenever somebody else may act; None where the failure has nothing to do with it."""
        return self.data.get("epoch")


class HeldByPerson(ApiError):
    """423: a person holds control (`held_by_human`), or is `private`: see `reason`.

    Nothing was done, unless `outcome` is `unknown`: look before you repeat it.
    """

    @property
    def holder(self) -> str | None:
        """Who holds control."""
        return self.data.get("holder")

    @property
    def outcome(self) -> str | None:
        """`unknown` where a person took over in the middle."""
        return self.data.get("outcome")


class Conflict(ApiError):
    """409: what was named is in a state that does not allow this now. `stale_epoch` as `reason`: somebody acted since you looked."""


class LimitReached(ApiError):
    """429: a limit is reached; `retry_after` is in seconds."""


class Unavailable(ApiError):
    """503: a component starts, restarts or is not enabled; `retry_after` is in seconds, or None where waiting does not help."""


class NotFound(ApiError):
    """404: what was named does not exist."""


class PermissionDenied(ApiError):
    """401 or 403: the key is not known, or may not do this."""


class InvalidRequest(ApiError):
    """400, 413 or 422: a value makes no sense."""


_BY_STATUS = {
    400: InvalidRequest,
    401: PermissionDenied,
    403: PermissionDenied,
    404: NotFound,
    409: Conflict,
    413: InvalidRequest,
    422: InvalidRequest,
    423: HeldByPerson,
    429: LimitReached,
    503: Unavailable,
}


def failure(status: int, body: Any, headers: Mapping[str, str]) -> ApiError:
    """The exception for an answer."""
    return _BY_STATUS.get(status, ApiError)(status, body, headers)


def _seconds(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdigit() else None
