import pytest

from sandbox_server.features.skills.front_matter import MAX_FRONT_MATTER, NotASkill, SkillText, parse


def test_the_front_matter_and_the_instructions_are_told_apart() -> None:
    text = "---\nname: pdf\ntags: [a, b]\nsince: 2026-01-02\n---\n\n# How\n---\nmore\n"
    assert parse(text) == SkillText({"name": "pdf", "tags": ["a", "b"], "since": "2026-01-02"}, "# How\n---\nmore\n")


@pytest.mark.parametrize("text", ["", "# How\n", "text\n---\nname: x\n---\n"])
def test_text_without_front_matter_is_all_instructions(text: str) -> None:
    assert parse(text) == SkillText({}, text)


def test_a_byte_order_mark_and_windows_lines_do_not_matter() -> None:
    assert parse("\ufeff---\r\nname: x\r\n---\r\nbody\r\n") == SkillText({"name": "x"}, "body\r\n")


def test_an_empty_front_matter_says_nothing() -> None:
    assert parse("---\n---\nbody") == SkillText({}, "body")


@pytest.mark.parametrize(
    ("matter", "problem"),
    [
        ("name: [", "not valid YAML"),
        ("- a\n- b", "must be a mapping"),
        ("a: &x 1\nb: *x", "aliases"),
        ("!!python/object/apply:os.system [id]", "not valid YAML"),
        ("a: " + "x" * MAX_FRONT_MATTER, "more than"),
        ("a: " + "[" * 5000, "not valid YAML"),
    ],
)
def test_front_matter_that_cannot_be_taken_says_why(matter: str, problem: str) -> None:
    with pytest.raises(NotASkill, match=problem):
        parse(f"---\n{matter}\n---\n")


def test_front_matter_that_never_ends_is_no_skill() -> None:
    with pytest.raises(NotASkill, match="no closing"):
        parse("---\nname: x\n")
