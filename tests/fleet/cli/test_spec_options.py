"""The options that say what a sandbox is made of."""

import argparse

import pytest
from tandem_fleet.cli import spec_options
from tandem_fleet.errors import InvalidError


def read(*words: str) -> dict[str, object]:
    """What the service is sent."""
    parser = argparse.ArgumentParser()
    spec_options.add(parser)
    return spec_options.read(parser.parse_args(words))


def test_what_is_not_said_is_not_sent() -> None:
    assert read() == {}


def test_what_is_said_is_sent() -> None:
    words = ("--memory", "512", "--cpus", "1.5", "--env", "A=b=c", "--label", "x=", "--pause-after", "15", "--level", "plain")
    fields = {"memory_mb": 512, "cpus": 1.5, "environment": {"A": "b=c"}, "labels": {"x": ""}, "level": "plain"}
    assert read(*words) == fields | {"idle": {"pause_after_minutes": 15}}


def test_a_pair_needs_its_sign() -> None:
    with pytest.raises(InvalidError):
        read("--env", "A")
