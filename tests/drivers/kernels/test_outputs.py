from sandbox_server.drivers.kernels.outputs import Output, merge, read, stream_text


def out(text: str, name: str = "stdout") -> Output:
    return Output("stream", name=name, text=text)


def shown(text: str, display_id: str | None = None) -> Output:
    return Output("display_data", data={"text/plain": text}, display_id=display_id)


def test_pieces_of_a_stream_are_joined_and_kept_in_order() -> None:
    assert merge([out("a"), out("b"), out("e", "stderr"), out("c")]) == [out("ab"), out("e", "stderr"), out("c")]


def test_what_was_cleared_is_gone_at_once_or_when_the_next_output_comes() -> None:
    assert merge([out("a"), Output("clear_output")]) == []
    assert merge([out("a"), Output("clear_output", wait=True)]) == [out("a")]
    assert merge([out("a"), Output("clear_output", wait=True), out("b")]) == [out("b")]


def test_a_display_is_brought_up_to_date_by_its_id() -> None:
    update = Output("update_display_data", data={"text/plain": "new"}, display_id="x")

    assert merge([shown("old", "x"), shown("other", "y"), shown("none"), update]) == [shown("new", "x"), shown("other", "y"), shown("none")]


def test_fields_of_the_wrong_type_count_as_not_given() -> None:
    wrong = {"ename": 1, "traceback": "no list", "data": [], "execution_count": "3", "transient": 0}
    message = {"output_type": "error", "evalue": "e", **wrong}

    assert read(message) == Output("error", evalue="e")


def test_what_is_no_output_is_none() -> None:
    assert read({"output_type": "comm_open"}) is None
    assert read({"output_type": ["stream"]}) is None
    assert read({}) is None


def test_the_text_of_one_stream_leaves_out_the_other() -> None:
    assert stream_text([out("a"), out("e", "stderr"), out("b"), shown("c")], "stdout") == "ab"
