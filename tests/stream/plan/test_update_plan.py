"""An update plan: empty if nothing of it is sent."""

import pytest

from sandbox_server.stream.plan.update_plan import UpdatePlan


def test_a_plan_without_content_is_empty_whatever_its_number() -> None:
    assert not UpdatePlan(frame=7)


@pytest.mark.parametrize(
    "plan",
    [
        UpdatePlan(size=(640, 480)),
        UpdatePlan(moves=bytes(12)),
        UpdatePlan(cached_tiles=((b"", bytes(6)),)),
        UpdatePlan(exact=(b"rects",)),
        UpdatePlan(pictures=(((0, 0, 1, 1), bytearray(4)),)),
        UpdatePlan(overlays=((0, ()),)),
        UpdatePlan(ended=(0,)),
    ],
)
def test_a_plan_with_anything_to_send_is_not_empty(plan: UpdatePlan) -> None:
    assert plan
