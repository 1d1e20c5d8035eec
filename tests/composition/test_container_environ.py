"""The container's environment, from boot's file or this process."""

import json
import os
from dataclasses import replace
from pathlib import Path

from sandbox_server.composition.container_environ import container_environ
from sandbox_server.settings import Paths, load


def test_what_boot_wrote_counts(tmp_path: Path) -> None:
    settings = replace(load({}), paths=Paths(run=str(tmp_path)))
    Path(settings.paths.environ).write_text(json.dumps({"MINE": "1"}))
    assert container_environ(settings) == {"MINE": "1"}


def test_this_process_counts_where_there_is_no_file_or_a_damaged_one(tmp_path: Path) -> None:
    settings = replace(load({}), paths=Paths(run=str(tmp_path)))
    assert container_environ(settings) == dict(os.environ)
    Path(settings.paths.environ).write_text("{")
    assert container_environ(settings) == dict(os.environ)
