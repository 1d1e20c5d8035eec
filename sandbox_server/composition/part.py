"""The common form of every builder's result."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from sandbox_server.core.operation import Feature

type Opened = tuple[AbstractAsyncContextManager[Any], ...]


@dataclass(frozen=True, slots=True)
class ProductPart:
    """A part of the product: features, and what is opened for them, in this order, and closed in reverse."""

    features: tuple[Feature, ...] = ()
    opened: Opened = ()
