"""What the service refuses, and how each refusal is answered."""


class FleetError(Exception):
    """A refusal: a sentence for the caller, a code for programs, an HTTP status."""

    code = "internal"
    status = 500
    retry_after: int | None = None
    """Seconds after which the same call may be made again."""


class NotFoundError(FleetError):
    """There is no such sandbox."""

    code, status = "not_found", 404


class ConflictError(FleetError):
    """It does not fit what there is: a name that is taken, a state that does not allow it."""

    code, status = "conflict", 409


class InvalidError(FleetError):
    """A value that cannot be used."""

    code, status = "invalid", 422


class UnauthorizedError(FleetError):
    """The request has no key, or a wrong one."""

    code, status = "unauthorized", 401


class ForbiddenError(FleetError):
    """The caller is known and may not do this."""

    code, status = "forbidden", 403


class QuotaError(FleetError):
    """The tenant has as much as it may have."""

    code, status = "quota_exceeded", 403


class DrainingError(FleetError):
    """The fleet is being emptied."""

    code, status = "draining", 503
    retry_after = 60


class TooManyRequestsError(FleetError):
    """The caller calls too often."""

    code, status = "too_many_requests", 429

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EngineError(FleetError):
    """The engine refused."""

    code, status = "engine", 502


class EngineUnreachableError(EngineError):
    """The engine does not answer."""

    code, status = "engine_unreachable", 503


class SandboxFailedError(FleetError):
    """The sandbox did not become what was asked for."""

    code, status = "sandbox_failed", 502
