"""Every scenario so many times, alone and with a person, then so many takes; runs in a container of the image of the tests.

Usage: python -m benchmarks.handoff.rounds URL KEY HOST ROUNDS TAKES. HOST is the name by which the product reaches this container. The last
line is one JSON object: {"scenarios": {name: [outcome, ...]}, "take_ms": [...]}, outcomes as `alone` and `with_person`.
"""

import json
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.handoff.person import browsing, watching
from benchmarks.handoff.scenarios import SCENARIOS, Stage, alone, take, with_person
from benchmarks.handoff.site import serving


def main() -> None:
    """Play them all."""
    base_url, key, host = sys.argv[1:4]
    rounds, takes = int(sys.argv[4]), int(sys.argv[5])
    with serving(host) as site, browsing() as browser:
        stage, outcomes = Stage(base_url, key, site), dict[str, list[dict[str, Any]]]()
        for name, scenario in SCENARIOS.items():
            outcomes[name] = []
            for number in range(rounds):
                sys.stderr.write(f"{name}, round {number + 1}\n")
                by_itself = alone(stage, scenario)
                with watching(browser, stage.invitation()) as person:
                    outcomes[name].append({"alone": asdict(by_itself), "with_person": asdict(with_person(stage, scenario, person))})
        with watching(browser, stage.invitation()) as person:
            taken = [take(stage, person) for _ in range(takes)]
    sys.stdout.write(json.dumps({"scenarios": outcomes, "take_ms": taken}) + "\n")


main()
