from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.types import ASGIApp

from tests.sample import Sample, product, serving


@pytest.fixture(scope="module")
def sample() -> Sample:
    """The feature that `app` serves."""
    return Sample()


@pytest.fixture(scope="module")
def app(sample: Sample) -> ASGIApp:
    """The sample as an application."""
    return product(sample)


@pytest.fixture(name="serving", scope="module")
def _serving() -> Callable[..., Any]:
    return serving


@pytest.fixture(scope="module")
def api_socket(app: ASGIApp, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The socket on which `app` is served."""
    with serving(app, tmp_path_factory.mktemp("api") / "api.sock") as socket:
        yield socket
