"""The quality ladder: down while the quantiser is too coarse, up when there has been room for long, and no swinging."""

from sandbox_server.stream.congestion.quality_ladder import LEARNED_PICTURES, REGRET_SECONDS, STEPS, UP_SECONDS, WORST, QualityLadder

COARSE, FULL, ROOM = (WORST + 4, 1.0), (WORST - 3, 0.9), (23.0, 0.3)


class Played:
    """A video whose quantiser, and the share of the rate that it takes, are what its step makes them; the steps that it took."""

    def __init__(self) -> None:
        self.ladder, self.now, self.steps = QualityLadder(), 0.0, [0]

    def play(self, seconds: float, *each: tuple[float, float]) -> None:
        """Play for so long; `each` is of a step."""
        end = self.now + seconds
        while self.now < end:
            at = STEPS.index(self.ladder.step)
            if at != self.steps[-1]:
                self.steps.append(at)
            self.now += max(1 / 30, self.ladder.step.seconds)
            self.ladder.learn(*each[at], self.now)


def test_a_video_that_is_fine_enough_is_shown_as_it_is() -> None:
    video = Played()
    video.play(20, (WORST - 1, 1.0), ROOM, ROOM, ROOM)
    assert video.steps == [0]


def test_first_it_is_smaller_and_then_there_are_fewer_pictures() -> None:
    video = Played()
    video.play(5, COARSE, FULL, ROOM, ROOM)
    assert video.steps == [0, 1]
    video.play(6, COARSE, COARSE, COARSE, COARSE)
    assert video.steps == [0, 1, 2, 3]
    video.play(5, COARSE, COARSE, COARSE, COARSE)
    assert video.steps == [0, 1, 2, 3]


def test_one_coarse_picture_is_no_reason() -> None:
    ladder = QualityLadder()
    for number in range(100):
        ladder.learn(WORST + 12 if number % LEARNED_PICTURES == 0 else WORST - 4, 1.0, number / 30)
    assert ladder.step == STEPS[0]


def test_where_there_is_room_again_it_steps_up_again() -> None:
    video = Played()
    video.play(10, COARSE, COARSE, COARSE, COARSE)
    video.play(10 * UP_SECONDS, ROOM, ROOM, ROOM, ROOM)
    assert video.steps == [0, 1, 2, 3, 2, 1, 0]


def test_a_step_up_that_was_one_too_many_is_tried_less_and_less_often() -> None:
    video = Played()
    video.play(120, COARSE, ROOM, ROOM, ROOM)
    assert 5 <= len(video.steps) <= 14
    before = len(video.steps)
    video.play(60, COARSE, ROOM, ROOM, ROOM)
    assert len(video.steps) <= before + 3


def test_where_it_went_well_for_long_the_next_step_up_comes_soon() -> None:
    video = Played()
    video.play(60, COARSE, ROOM, ROOM, ROOM)
    video.play(120 + REGRET_SECONDS, FULL, ROOM, ROOM, ROOM)
    assert video.steps[-1] == 0
    video.play(1, COARSE, ROOM, ROOM, ROOM)
    video.play(0.2, COARSE, ROOM, ROOM, ROOM)
    assert video.steps[-1] == 1
    video.play(UP_SECONDS + 1, FULL, ROOM, ROOM, ROOM)
    assert video.steps[-1] == 0
