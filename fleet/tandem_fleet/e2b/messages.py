"""Messages as E2B's clients write them: JSON of Protocol Buffers, and JSON of its REST API."""

import base64
import binascii
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, model_validator
from pydantic.alias_generators import to_camel


class Message(BaseModel):
    """A message. Names are in camel case on the wire, unknown fields are ignored, and null is as if it were absent."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, fields: Any) -> Any:
        return {name: value for name, value in fields.items() if value is not None} if isinstance(fields, dict) else fields

    def to_json(self) -> bytes:
        """What is sent: without what is not set."""
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()


def _decode(value: object) -> bytes:
    """Base64 of either alphabet, padded or not, as the JSON of Protocol Buffers allows."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise ValueError("bytes are text in Base64")  # noqa: TRY004 # pydantic reads ValueError
    text = value.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("these are no bytes in Base64") from error


Data = Annotated[bytes, PlainValidator(_decode), PlainSerializer(lambda data: base64.b64encode(data).decode(), return_type=str)]
"""Bytes, in Base64 on the wire."""
Int64 = Annotated[int, PlainSerializer(str, return_type=str)]
"""A number of 64 bits, which is text on the wire."""
Uint32 = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]
Path = Annotated[str, Field(max_length=4096)]


class Empty(Message):
    """A message without fields."""
