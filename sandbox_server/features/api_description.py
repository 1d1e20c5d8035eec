"""The API's OpenAPI document, for people, SDKs, the MCP process and the command line."""

from collections.abc import Callable, Sequence
from typing import Any

from sandbox_server.core import operation
from sandbox_server.core.openapi import document
from sandbox_server.core.operation import Operation

TITLE = "Tandem"


class Description:
    """Makes the OpenAPI document once, on first use."""

    tag = "description"

    def __init__(self, operations: Callable[[], Sequence[Operation]], version: str) -> None:
        self._operations = operations
        self._version = version
        self._document: dict[str, Any] | None = None

    @operation("GET /v1/openapi.json", scope="view", envelope=False)
    async def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 document of every operation, custom tools included."""
        if self._document is None:
            self._document = document(self._operations(), title=TITLE, version=self._version)
        return self._document
