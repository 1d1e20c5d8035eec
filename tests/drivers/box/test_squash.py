from tests.boxes import BoxDaemons

SECOND = """
rm /home/gem/a; rm -r /home/gem/folder; mkdir /home/gem/folder; touch /home/gem/folder/new
rm /home/gem/file; mkdir /home/gem/file; touch /home/gem/file/inside; rm -r /usr/share/common-licenses
"""
SHOWN = "cd /home/gem; find a b folder file -printf '%p %y %m %u\\n' 2>/dev/null | sort; ls -d /usr/share/common-licenses 2>/dev/null; true"


def test_a_squashed_checkpoint_is_the_same_with_one_layer_less(box: BoxDaemons) -> None:
    box.out("cd /home/gem; touch a b file; chmod 600 b; mkdir folder; touch folder/old; chown -R gem: .")
    first = box.ask("checkpoint", label="one", who="me")["checkpoint"]["id"]
    box.out(SECOND)
    second = box.ask("checkpoint", label="two", who="me")["checkpoint"]["id"]
    before = box.out(SHOWN)
    box.ask("squash", checkpoint=second)
    assert {one["id"]: one["parent"] for one in box.ask("list")["checkpoints"]} == {first: None, second: None}
    assert box.out(SHOWN) == before
    box.ask("remove", checkpoint=first)
    box.ask("replace")
    assert box.out(SHOWN) == before
    assert "a f" not in before
    assert "folder/old" not in before


def test_nothing_is_below_the_first_checkpoint(box: BoxDaemons) -> None:
    first = box.ask("checkpoint", label="", who="me")["checkpoint"]["id"]
    assert box.answer("squash", checkpoint=first)["refused"] == "conflict"
