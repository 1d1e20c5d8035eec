import json
from pathlib import Path

import pytest

import sandbox_server
from sandbox_server.core import operation
from sandbox_server.core.operation import operations
from sandbox_server.features.api_description import TAGS, Description

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


async def test_every_tag_has_a_sentence_and_words_to_find_it_by() -> None:
    committed = json.loads((Path(sandbox_server.__file__).parent / "openapi.json").read_text("utf-8"))
    tags = {tag["name"]: tag for tag in committed["tags"]}

    assert set(tags) == {entry["tags"][0] for verbs in committed["paths"].values() for entry in verbs.values()} == set(TAGS)
    assert all(tag["description"].endswith(".") for tag in tags.values())
    assert "undo" in tags["checkpoints"]["x-words"]


async def test_a_tag_of_a_custom_tool_is_listed_behind_the_others() -> None:
    class Custom:
        tag = "aaa"

        @operation("GET /v1/aaa", scope="view")
        async def first(self) -> str:
            """Be first."""
            return ""

    description: Description
    description = Description(lambda: [*operations(Custom()), *operations(description)], "1")

    assert [tag["name"] for tag in (await description.openapi())["tags"]] == ["description", "aaa"]
