"""A sandbox that gives and takes checkpoints, over HTTP."""

from typing import Any

from tests.fleet.answering import Answering, Call

BIND, CREATE, EXPORT = "POST /v1/sandbox/bind", "POST /v1/checkpoints", "GET /v1/checkpoints/c0ffee/archive"
IMPORT, RESTORE = "POST /v1/checkpoints/import", "POST /v1/checkpoints/beef/restore"
ARCHIVE = b"an archive" * 300_000


def keeps(answers: Answering) -> str:
    """Where it answers."""

    async def take(call: Call) -> tuple[int, Any]:
        return (200, {"success": True, "data": {"id": "beef"}}) if call.body == ARCHIVE else (422, {"message": "no archive"})

    answers.answers |= {
        BIND: (200, {"success": True, "data": {}}),
        CREATE: (200, {"success": True, "data": {"checkpoint": {"id": "c0ffee"}, "mode": "live"}}),
        EXPORT: (200, ARCHIVE),
        IMPORT: take,
        RESTORE: (200, {"success": True, "data": {"head": "beef"}}),
    }
    return answers.address
