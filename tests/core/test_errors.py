import errno

import pytest

from sandbox_server.core import errors
from sandbox_server.core.errors import Failure, FileError


def test_the_kinds_have_each_their_status() -> None:
    kinds = {cls.kind: cls.status for cls in Failure.__subclasses__() if cls is not FileError}

    assert kinds == {
        "invalid_argument": 400,
        "unauthenticated": 401,
        "permission_denied": 403,
        "not_found": 404,
        "conflict": 409,
        "precondition_failed": 412,
        "too_large": 413,
        "held_by_human": 423,
        "private": 423,
        "precondition_required": 428,
        "resource_exhausted": 429,
        "unavailable": 503,
        "deadline_exceeded": 504,
    }


def test_a_failure_keeps_the_values_of_its_sentence_by_name() -> None:
    failure = errors.NotFound("no session 'x'", hint="list them", session_id="x")

    assert (str(failure), failure.hint, failure.details) == ("no session 'x'", "list them", {"session_id": "x"})


def test_a_missing_file_is_described_as_the_contract_shows_it() -> None:
    assert FileError.from_errno(errno.ENOENT, path="/tmp/missing.txt", operation="read").data() == {
        "path": "/tmp/missing.txt",
        "operation": "read",
        "message": "Failed to read file: [Errno 2] No such file or directory: '/tmp/missing.txt'",
        "error_type": "not_found",
        "retryable": False,
        "errno": 2,
        "errno_name": "ENOENT",
        "exception_type": "FileNotFoundError",
    }


@pytest.mark.parametrize(
    ("number", "kind", "status"),
    [
        (errno.EACCES, "permission_denied", 403),
        (errno.EISDIR, "invalid_target", 400),
        (errno.EEXIST, "already_exists", 409),
        (errno.ELOOP, "invalid_path", 400),
        (errno.EROFS, "read_only_filesystem", 403),
        (errno.EDQUOT, "no_space_left", 413),
        (errno.EIO, "io_error", 400),
    ],
)
def test_an_errno_has_its_kind_and_status(number: int, kind: str, status: int) -> None:
    failure = FileError.from_errno(number, path="/x", operation="write")

    assert (failure.error_type, failure.http_status) == (kind, status)


def test_what_may_pass_by_itself_is_retryable() -> None:
    assert FileError.from_errno(errno.EBUSY, path="/x", operation="write").data()["retryable"] is True


def test_an_error_that_no_kernel_named_has_no_errno() -> None:
    failure = FileError("not UTF-8", path="/x", operation="read", error_type="decode_error")

    assert failure.data()["errno_name"] is None
    assert failure.http_status == 400
