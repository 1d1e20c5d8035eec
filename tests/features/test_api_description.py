import pytest

from sandbox_server.core.operation import operations
from sandbox_server.features.api_description import Description

pytestmark = pytest.mark.anyio


async def test_the_document_is_made_once_and_describes_what_it_was_given() -> None:
    asked = []
    description: Description

    def every() -> list[object]:
        asked.append(1)
        return list(operations(description))

    description = Description(every, "1.2.3")  # type: ignore[arg-type]

    first, second = await description.openapi(), await description.openapi()

    assert first is second
    assert asked == [1]
    assert first["info"] == {"title": "Tandem", "version": "1.2.3"}
    assert list(first["paths"]) == ["/v1/openapi.json"]
