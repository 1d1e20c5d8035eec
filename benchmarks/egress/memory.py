"""Measures the memory of the egress process inside a container of the tests: at the start, and with policies that are replaced."""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.egress.measure import Egress
from tests.egress_namespaces import NetworkBox

RULES = 10_000


def main(replacements: int = 5) -> None:
    """Print the memory in MiB as one JSON object."""
    with tempfile.TemporaryDirectory() as folder:
        box = NetworkBox(Path(folder))
        egress = Egress(Path(folder), box)
        found = {"at the start": egress.memory}
        try:
            for number in range(replacements + 1):
                egress.rules(RULES)
                found[f"replaced {number} times" if number else f"{RULES} rules"] = egress.memory
        finally:
            egress.end()
            box.close()
    sys.stdout.write(json.dumps({when: {name: round(size, 1) for name, size in sizes.items()} for when, sizes in found.items()}) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
