from sandbox_server.features.box.announcement import program_name, told_of


def test_programs_are_counted_and_the_most_frequent_are_named() -> None:
    commands = ["a", "b", "b", "c", "d", "e", "f"]
    assert told_of([{"command": command} for command in commands]) == "7 programs were stopped: b, a, c, d, e, ..."
    assert told_of([{"command": "/usr/bin/top -b"}]) == "1 program was stopped: top"
    assert told_of([]) == "no programs were stopped"


def test_a_name_of_any_length_is_cut() -> None:
    assert program_name("x" * 1000) == "x" * 50
