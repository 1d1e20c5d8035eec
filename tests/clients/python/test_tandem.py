import subprocess
import sys

import pytest
import tandem

from tests.clients.python.conftest import PACKAGE


def test_every_name_is_there() -> None:
    for name in ("AsyncSandbox", "Sandbox", "Event", "HeldByPerson", "NotFound", "TandemError"):
        assert getattr(tandem, name).__name__ == name
    with pytest.raises(AttributeError):
        tandem.nothing  # noqa: B018


def test_importing_it_loads_no_models() -> None:
    look = "print([name for name in sys.modules if name.startswith(('pydantic', 'tandem.api.'))])"
    script = f"import sys; sys.path.insert(0, sys.argv[1]); from tandem import Sandbox; {look}"
    done = subprocess.run([sys.executable, "-c", script, str(PACKAGE)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
