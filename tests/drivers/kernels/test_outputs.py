import time

import pytest

from sandbox_server.drivers.kernels.outputs import MAX_DEPTH, KernelOutput, is_nested_deeper, merge, read, stream_text


def out(text: str, name: str = "stdout") -> KernelOutput:
    return KernelOutput("stream", name=name, text=text)


def shown(text: str, display_id: str | None = None) -> KernelOutput:
    return KernelOutput("display_data", data={"text/plain": text}, display_id=display_id)


def test_pieces_of_a_stream_are_joined_and_kept_in_order() -> None:
    assert merge([out("a"), out("b"), out("e", "stderr"), out("c")]) == [out("ab"), out("e", "stderr"), out("c")]


def test_what_was_cleared_is_gone_at_once_or_when_the_next_output_comes() -> None:
    assert merge([out("a"), KernelOutput("clear_output")]) == []
    assert merge([out("a"), KernelOutput("clear_output", wait=True)]) == [out("a")]
    assert merge([out("a"), KernelOutput("clear_output", wait=True), out("b")]) == [out("b")]


def test_a_display_is_brought_up_to_date_by_its_id() -> None:
    update = KernelOutput("update_display_data", data={"text/plain": "new"}, display_id="x")

    assert merge([shown("old", "x"), shown("other", "y"), shown("none"), update]) == [shown("new", "x"), shown("other", "y"), shown("none")]


def test_fields_of_the_wrong_type_count_as_not_given() -> None:
    wrong = {"ename": 1, "traceback": "no list", "data": [], "execution_count": "3", "transient": 0}
    message = {"output_type": "error", "evalue": "e", **wrong}

    assert read(message) == KernelOutput("error", evalue="e")


def test_what_is_no_output_is_none() -> None:
    assert read({"output_type": "comm_open"}) is None
    assert read({"output_type": ["stream"]}) is None
    assert read({}) is None


def test_the_text_of_one_stream_leaves_out_the_other() -> None:
    assert stream_text([out("a"), out("e", "stderr"), out("b"), shown("c")], "stdout") == "ab"


def test_a_display_that_is_shown_after_its_update_is_as_it_was_put_out() -> None:
    update = KernelOutput("update_display_data", data={"text/plain": "new"}, display_id="x")

    assert merge([shown("one", "x"), update, shown("two", "x")]) == [shown("new", "x"), shown("two", "x")]


def test_a_stream_is_one_of_the_two_and_has_nothing_but_its_text() -> None:
    assert read({"output_type": "stream", "name": "stdout", "text": "a", "data": {"x": "y"}}) == out("a")
    assert read({"output_type": "stream", "name": "x" * 1000, "text": "a"}) is None
    assert read({"output_type": "stream", "name": "stdout", "text": ["a"]}) is None


@pytest.mark.parametrize("kind", ["stream", "update"])
def test_what_is_shown_is_put_together_in_time_that_grows_with_what_was_put_out(kind: str) -> None:
    def seconds(count: int) -> float:
        updates = [KernelOutput("update_display_data", data={"n": number}, display_id="x") for number in range(count)]
        outputs = [out("x" * 100)] * (2 * count) if kind == "stream" else [*([shown("old", "x")] * count), *updates]
        begun = time.process_time()
        merge(outputs)
        return time.process_time() - begun

    assert seconds(100_000) < max(20 * seconds(10_000), 0.5)


def test_what_nests_deeper_than_an_answer_can_is_found() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    just: object = 1
    for _ in range(MAX_DEPTH):
        just = {"x": just}

    assert is_nested_deeper(deep)
    assert not is_nested_deeper(just)
    assert is_nested_deeper([just])
