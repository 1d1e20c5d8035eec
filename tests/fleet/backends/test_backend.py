"""The engine that the other tests use keeps what every backend keeps."""

import pytest
from tandem_fleet.backends.backend import Order
from tandem_fleet.sandboxes import Spec, new_id

from tests.fleet.backends.backend_suite import PROMISES, Promise
from tests.fleet.engines import MemoryBackend

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_the_engine_in_memory_keeps_what_backends_keep(promise: Promise) -> None:
    backend = MemoryBackend("http://127.0.0.1:1")
    await promise(backend, Order(new_id(), "work", "default", Spec(image="image"), "{}", "issuer"))
    await backend.close()
