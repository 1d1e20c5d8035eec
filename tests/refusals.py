"""What was refused, told apart from what only took too long: a slow machine refuses nothing."""

NO_REFUSAL = {0: "it succeeded", 28: "curl gave up waiting", 124: "its time was over", 127: "its program is not there"}
"""What a status of a shell's command says, where that is not a refusal. 28 is curl's (its manual, EXIT CODES), 124 timeout's."""
TIMED_OUT = ("curl: (28)", "timed out", "TimeoutError", "ETIMEDOUT")
"""How curl, the C library, Python and Node.js say that nothing has answered in time."""


def assert_not_timed_out(said: str) -> None:
    """Nothing in it says that somebody gave up waiting."""
    assert not [words for words in TIMED_OUT if words in said], f"nobody refused it, it took too long: {said}"


def assert_refused(status: int | None, said: str) -> None:
    """A command has ended by itself, and neither well nor because it took too long. `status` is None for one that was ended."""
    assert status is not None, f"it did not end by itself: {said}"
    assert status not in NO_REFUSAL, f"{NO_REFUSAL[status]}: {said}"
    assert_not_timed_out(said)
