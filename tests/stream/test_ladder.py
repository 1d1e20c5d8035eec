"""Where a film is on the ladder: it steps down while its quantiser is too coarse, up when it is fine for long, and does not swing."""

from sandbox_server.stream.ladder import LEARNED_PICTURES, REGRET_SECONDS, STEPS, UP_SECONDS, WORST, Ladder


class Played:
    """A film whose quantiser is what a function of the step says; the steps that it took, by time."""

    def __init__(self) -> None:
        self.ladder, self.now, self.steps = Ladder(), 0.0, [0]

    def play(self, seconds: float, quantisers: list[float]) -> None:
        """Play for so long; `quantisers` are those of the steps."""
        end = self.now + seconds
        while self.now < end:
            at = STEPS.index(self.ladder.step)
            if at != self.steps[-1]:
                self.steps.append(at)
            self.now += max(1 / 30, self.ladder.step.seconds)
            self.ladder.learn(quantisers[at], self.now)


def test_a_film_that_is_fine_enough_is_shown_as_it_is() -> None:
    film = Played()
    film.play(20, [WORST - 1, 10, 10, 10])
    assert film.steps == [0]


def test_first_it_is_smaller_and_then_there_are_fewer_pictures() -> None:
    film = Played()
    film.play(5, [WORST + 3, WORST - 3, 20, 20])
    assert film.steps == [0, 1]
    film.play(5, [50, WORST + 3, WORST + 2, WORST + 1])
    assert film.steps == [0, 1, 2, 3]
    film.play(5, [50, 50, 50, 50])
    assert film.steps == [0, 1, 2, 3]


def test_one_coarse_picture_is_no_reason() -> None:
    ladder = Ladder()
    for number in range(100):
        ladder.learn(WORST + 12 if number % LEARNED_PICTURES == 0 else WORST - 4, number / 30)
    assert ladder.step == STEPS[0]


def test_where_there_is_room_again_it_steps_up_again() -> None:
    film = Played()
    film.play(10, [50, 50, 50, 50])
    film.play(10 * UP_SECONDS, [23, 23, 23, 23])
    assert film.steps == [0, 1, 2, 3, 2, 1, 0]


def test_a_step_up_that_was_one_too_many_is_tried_less_and_less_often() -> None:
    film = Played()
    film.play(120, [WORST + 4, 22, 20, 20])
    assert 5 <= len(film.steps) <= 14
    before = len(film.steps)
    film.play(60, [WORST + 4, 22, 20, 20])
    assert len(film.steps) <= before + 3


def test_where_it_went_well_for_long_the_next_step_up_comes_soon() -> None:
    film = Played()
    film.play(60, [WORST + 4, 22, 20, 20])
    film.play(120, [23, 22, 20, 20])
    assert film.steps[-1] == 0
    film.play(REGRET_SECONDS, [23, 22, 20, 20])
    film.play(1, [WORST + 4, 22, 20, 20])
    assert film.steps[-1] == 1
    film.play(UP_SECONDS + 1, [23, 22, 20, 20])
    assert film.steps[-1] == 0
