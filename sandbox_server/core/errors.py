"""The kinds of failure that a caller can meet, and the file errors of the contract.

Every surface maps a `Failure` to its own form: HTTP to a status and the envelope, MCP to `isError`, the command line to
an exit code. Any other exception is a bug: it becomes a 500 with an `error_id` that is also in the log.
"""

import errno as errno_codes
import os
from typing import ClassVar, Literal


class Failure(Exception):
    """A failure that the caller can understand and act on.

    `message` is one sentence for the caller, `details` are its values by name, `retry_after` is in seconds.
    """

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "failure"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        retry_after: float | None = None,
        **details: object,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.retry_after = retry_after
        self.details = details


class InvalidArgument(Failure):
    """A value is well-formed but not valid here."""

    status = 400
    kind = "invalid_argument"


class Unauthenticated(Failure):
    """The caller is unknown."""

    status = 401
    kind = "unauthenticated"


class PermissionDenied(Failure):
    """The caller is known but may not do this."""

    status = 403
    kind = "permission_denied"


def left_to_people(what: str) -> PermissionDenied:
    """Return the refusal of what decides for people, to a program."""
    return PermissionDenied(
        f"{what} is left to people: no key or token of a program may, whatever its scopes",
        hint="Ask a person with request_human. Persons sign in, or have a token with actor: person. A backend has the owner's key.",
        reason="left_to_people",
    )


class NotFound(Failure):
    """The named thing does not exist."""

    status = 404
    kind = "not_found"


class Conflict(Failure):
    """The thing is in a state that does not allow this now."""

    status = 409
    kind = "conflict"


class PreconditionFailed(Failure):
    """The thing was changed since the caller read it (`If-Match`)."""

    status = 412
    kind = "precondition_failed"


class PreconditionRequired(Failure):
    """The caller has to say which version it changes (`If-Match`)."""

    status = 428
    kind = "precondition_required"


class TooLarge(Failure):
    """The request, or its result, exceeds a stated limit."""

    status = 413
    kind = "too_large"


class HeldByHuman(Failure):
    """A person has control; the agent has to wait."""

    status = 423
    kind = "held_by_human"


class Private(Failure):
    """A person is in private mode, so the screen and the pages are hidden from everyone else."""

    status = 423
    kind = "private"


class ResourceExhausted(Failure):
    """A limit on sessions, watchers, processes or space is reached."""

    status = 429
    kind = "resource_exhausted"


class Unavailable(Failure):
    """A component is starting, restarting or not enabled. Nothing was done."""

    status = 503
    kind = "unavailable"


class DeadlineExceeded(Failure):
    """The work exceeded its time limit and was stopped."""

    status = 504
    kind = "deadline_exceeded"


FileErrorType = Literal[
    "not_found",
    "permission_denied",
    "invalid_target",
    "already_exists",
    "invalid_path",
    "read_only_filesystem",
    "no_space_left",
    "decode_error",
    "io_error",
]

_FILE_STATUS: dict[FileErrorType, int] = {
    "not_found": 404,
    "permission_denied": 403,
    "read_only_filesystem": 403,
    "already_exists": 409,
    "no_space_left": 413,
}

_FILE_TYPES: dict[int, FileErrorType] = {
    errno_codes.ENOENT: "not_found",
    errno_codes.EACCES: "permission_denied",
    errno_codes.EPERM: "permission_denied",
    errno_codes.EISDIR: "invalid_target",
    errno_codes.ENOTDIR: "invalid_target",
    errno_codes.ENXIO: "invalid_target",
    errno_codes.ENODEV: "invalid_target",
    errno_codes.EEXIST: "already_exists",
    errno_codes.ENOTEMPTY: "already_exists",
    errno_codes.ELOOP: "invalid_path",
    errno_codes.ENAMETOOLONG: "invalid_path",
    errno_codes.EINVAL: "invalid_path",
    errno_codes.EROFS: "read_only_filesystem",
    errno_codes.ENOSPC: "no_space_left",
    errno_codes.EDQUOT: "no_space_left",
}

_RETRYABLE = frozenset({errno_codes.EINTR, errno_codes.EAGAIN, errno_codes.EBUSY, errno_codes.ESTALE})


class FileError(Failure):
    """A file operation that failed, with the fields of the contract's `FileOperationError`.

    Operations declared with `failures="file"` answer it as 200 with `success: false`; others answer `status`.
    """

    kind = "file_error"

    def __init__(
        self,
        message: str,
        *,
        path: str,
        operation: str,
        error_type: FileErrorType,
        errno: int | None = None,
        exception_type: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.operation = operation
        self.error_type = error_type
        self.errno = errno
        self.exception_type = exception_type

    @property
    def http_status(self) -> int:
        """The status for operations that answer file errors as HTTP codes, such as a download."""
        return _FILE_STATUS.get(self.error_type, 400)

    def data(self) -> dict[str, object]:
        """The contract's `FileOperationError` object."""
        return {
            "path": self.path,
            "operation": self.operation,
            "message": self.message,
            "error_type": self.error_type,
            "retryable": self.errno in _RETRYABLE,
            "errno": self.errno,
            "errno_name": errno_codes.errorcode.get(self.errno) if self.errno is not None else None,
            "exception_type": self.exception_type,
        }

    @classmethod
    def from_errno(cls, number: int, *, path: str, operation: str) -> "FileError":
        """Format an `errno` as Python does: `[Errno 2] No such file or directory: '/x'`."""
        cause = OSError(number, os.strerror(number), path)
        return cls(
            f"Failed to {operation} file: {cause}",
            path=path,
            operation=operation,
            error_type=_FILE_TYPES.get(number, "io_error"),
            errno=number,
            exception_type=type(cause).__name__,
        )
