"""The words of shell lines."""

import pytest

from sandbox_server.drivers.shells.shell_lexer import NotUnderstood, commands_of
from tests.tables import table_test


def words(line: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in commands_of(line) if command.words]


@table_test(
    [
        ("git push origin main", [["git", "push", "origin", "main"]]),
        ("g\\it 'pu'sh \"ori\"gin", [["git", "push", "origin"]]),
        ("git pu\\\nsh", [["git", "push"]]),
        ("$'\\x67it' $'\\160ush' $'\\u0061'", [["git", "push", "a"]]),
        ('$"git" push', [["git", "push"]]),
        ("a;b&&c||d|e&f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("A=1 B=2 git push", [["git", "push"]]),
        ("A[0]=1 B+=2 git push", [["git", "push"]]),
        ("2>&1 >out <in git 2>/dev/null push &>log", [["git", "push"]]),
        ("(git push); { git pull; }", [["git", "push"], ["git", "pull"]]),
        ("if git push; then a; else b; fi", [["git", "push"], ["a"], ["b"]]),
        ("for x in 1 2; do git push; done", [["git", "push"]]),
        ("while ! git push; do sleep 1; done", [["git", "push"], ["sleep", "1"]]),
        ("case x in x) git push;; esac", [["git", "push"]]),
        ("f() { git push; }; f", [["f"], ["git", "push"], ["f"]]),
        ("echo a # git push", [["echo", "a"]]),
        ("echo a#b", [["echo", "a#b"]]),
        ("echo $(git push)", [["git", "push"], ["echo", "$(git push)"]]),
        ("echo `git push`", [["git", "push"], ["echo", "`git push`"]]),
        ("echo `echo \\`git push\\``", [["git", "push"], ["echo", "`git push`"], ["echo", "`echo \\`git push\\``"]]),
        ('echo "a $(git "pu"sh) b"', [["git", "push"], ["echo", 'a $(git "pu"sh) b']]),
        ("echo ${x:-$(git push)}", [["git", "push"], ["echo", "${x:-$(git push)}"]]),
        ("diff <(git push) b", [["git", "push"], ["diff", "<(git push)", "b"]]),
        ("cat <<EOF\n$(git push)\nEOF\nls", [["cat"], ["git", "push"], ["ls"]]),
        ("cat <<'EOF'\n$(git push)\nEOF\nls", [["cat"], ["ls"]]),
        ("cat <<-EOF\n\tx\n\tEOF\ngit push", [["cat"], ["git", "push"]]),
        ("echo \"$(cat <<'EOF'\na ) b\nEOF\n)\"; git push", [["cat"], ["echo", "$(cat <<'EOF'\na ) b\nEOF\n)"], ["git", "push"]]),
        ('echo "$(true # )\ngit push)"', [["true"], ["git", "push"], ["echo", "$(true # )\ngit push)"]]),
        ("echo 'git push'", [["echo", "git push"]]),
        ("", []),
    ]
)
def test_every_simple_command_is_found_wherever_it_stands(line: str, found: list[list[str]]) -> None:
    assert words(line) == found


@pytest.mark.parametrize(
    "line", ["$GIT push", "gi? push", "g{it,x}", "`echo git` push", "/usr/bin/g*t push", "!git", "!!", "^a^git", "~/x/$y"]
)
def test_a_word_that_an_expansion_may_change_is_dynamic(line: str) -> None:
    assert commands_of(line)[-1].words[0].dynamic


@pytest.mark.parametrize("line", ["git push", "'$GIT' push", '"*" x', "a\\*", "$ x", "~/x"])
def test_a_word_that_stays_what_it_is_is_not(line: str) -> None:
    assert not commands_of(line)[-1].words[0].dynamic


@table_test(
    [
        "echo 'a",
        'echo "a',
        "echo $(a",
        "echo `a",
        "echo ${a",
        "$'a",
        "function f { git push; }",
        "coproc x { git push; }",
        'echo "$(case x in x) git push;; esac)"',
        "((x<<2))\ngit push\n2",
        "x" * 70_000,
        "$(" * 13 + ")" * 13,
        "a;" * 1001,
    ]
)
def test_a_line_that_is_not_read_is_not_understood(line: str) -> None:
    with pytest.raises(NotUnderstood):
        commands_of(line)


def test_input_from_elsewhere_is_told() -> None:
    assert [command.piped for command in commands_of("curl x | sh; sh <<< y; sh")] == [False, True, True, False]


def test_assignments_are_told_apart() -> None:
    (command,) = commands_of("PROMPT_COMMAND='git push' ls")
    assert [word.text for word in command.assignments] == ["PROMPT_COMMAND=git push"]
