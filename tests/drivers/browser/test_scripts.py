from pathlib import Path

import pytest

from sandbox_server.drivers.browser import scripts
from sandbox_server.drivers.browser.scripts import script

NAMES = sorted(file.stem for file in Path(scripts.__file__).parent.glob("*.js"))


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_one_function(name: str) -> None:
    code = [line for line in script(name).splitlines() if not line.startswith("//")]

    assert code[0].endswith("=> {")
    assert code[-1] == "}"
