"""The arguments of the command."""

import pytest
from tandem_fleet.cli import main


def test_each_command_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.parser().parse_args(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert all(
        f"    {name} " in told
        for name in ("up", "ps", "open", "exec", "logs", "pause", "resume", "start", "stop", "rm", "serve", "doctor", "token")
    )


@pytest.mark.parametrize("words", [[], ["fly"], ["rm"], ["exec"], ["up", "--memory", "much"], ["up", "--level", "root"]])
def test_wrong_arguments_end_with_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.parser().parse_args(words)
    assert ended.value.code == main.USAGE


def test_a_command_for_a_sandbox_may_have_options_of_its_own() -> None:
    assert main.parser().parse_args(["exec", "work", "--", "ls", "--all"]).words[-2:] == ["ls", "--all"]


def test_a_refusal_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["tandem", "ps"])
    monkeypatch.setenv("TANDEM_URL", "http://127.0.0.1:9")
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == main.FAILED
    assert capsys.readouterr().err.startswith("tandem: the service does not answer")
