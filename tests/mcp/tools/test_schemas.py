from sandbox_server.mcp.tools.schemas import inline_references, object_of


def test_references_are_replaced_by_what_they_mean_and_keep_their_own_words() -> None:
    components = {"Colour": {"title": "Colour", "type": "string", "enum": ["red"]}}
    schema = {"anyOf": [{"$ref": "#/components/schemas/Colour", "description": "Of the door."}, {"type": "null"}], "title": "X"}

    assert inline_references(schema, components) == {
        "anyOf": [{"type": "string", "enum": ["red"], "description": "Of the door."}, {"type": "null"}]
    }


def test_a_property_may_be_called_title() -> None:
    schema = {"type": "object", "title": "Book", "properties": {"title": {"type": "string", "title": "Title"}}}

    assert inline_references(schema, {}) == {"type": "object", "properties": {"title": {"type": "string"}}}


def test_a_model_inside_itself_is_any_object() -> None:
    node = {"type": "object", "properties": {"nodes": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}}}

    found = inline_references({"$ref": "#/components/schemas/Node"}, {"Node": node})

    assert found["properties"]["nodes"]["items"] == {"type": "object"}


def test_an_object_of_nothing_required_names_no_required_fields() -> None:
    assert object_of({"a": {"type": "string"}}, []) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": False,
    }
