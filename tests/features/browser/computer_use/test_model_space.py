import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.features.browser.computer_use.model_space import ModelSpace, needed, unknown

SPACE = ModelSpace((1000, 500), (1280, 1024))


@pytest.mark.parametrize(
    ("point", "expected"), [((0, 0), (0, 0)), ((500, 250), (640, 512)), ((1000, 500), (1279, 1023)), ((999.9, 499.9), (1279, 1023))]
)
def test_a_point_is_scaled_each_way_for_itself_and_stays_on_the_screen(point: tuple[float, float], expected: tuple[int, int]) -> None:
    assert SPACE.point(*point, ("c",)) == expected


@pytest.mark.parametrize("point", [(-1, 0), (0, 501), (1001, 0), (float("nan"), 0), (float("inf"), 0)])
def test_a_point_outside_is_refused(point: tuple[float, float]) -> None:
    with pytest.raises(InvalidFields, match="outside of the picture of 1000x500"):
        SPACE.point(*point, ("c",))


def test_distances_are_scaled() -> None:
    assert (SPACE.distance(100, 0), SPACE.distance(-100, 1)) == (128, -205)


def test_what_is_missing_or_unknown_is_named() -> None:
    assert needed(("a",), 0) == 0
    with pytest.raises(InvalidFields, match=r"a\.b: this action needs it"):
        needed(("a", "b"), None)
    assert "there is no action 'fly'" in str(unknown(("action",), "fly", ("click",)))
    assert len(str(unknown(("action",), "x" * 10_000, ("click",)))) < 200
