"""What a sandbox was asked for, in its label."""

from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.e2b.origin import LABEL, Origin, origin_of
from tandem_fleet.sandboxes import Spec

from tests.fleet.e2b.stub_sandbox import described


def test_it_is_read_from_the_label() -> None:
    origin = Origin(template="base", metadata={"a": "b"}, environment={"X": "1"}, timeout=60, pauses=True)
    sandbox = described("").model_copy(update={"spec": Spec(labels={LABEL: origin.model_dump_json()})})
    assert origin_of(sandbox) == origin
    now = datetime.now(UTC)
    assert origin.ends_first(now) == now + timedelta(seconds=60)


@pytest.mark.parametrize(
    "labels",
    [{}, {LABEL: "x"}, {LABEL: '{"timeout": "soon"}'}, {LABEL: "[]"}, {LABEL: '{"timeout": 1000000000000}'}, {LABEL: '{"timeout": -1}'}],
)
def test_another_sandbox_has_none(labels: dict[str, str]) -> None:
    sandbox = described("").model_copy(update={"spec": Spec(image="mine", labels=labels)})
    assert origin_of(sandbox) == Origin(known=False, template="mine")
