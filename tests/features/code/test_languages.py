import anyio
import pytest

from sandbox_server.core import InvalidArgument
from sandbox_server.features.code.execution import CodeExecuteRequest, Language
from sandbox_server.features.code.languages import Code

pytestmark = pytest.mark.anyio


async def test_the_languages_are_those_that_can_be_run_here(code: Code) -> None:
    languages = {found.language: found for found in (await code.get_info()).languages}

    assert list(languages) == ["python", "javascript", "typescript", "bash"]
    assert (languages["python"].runtime_version, languages["python"].details["kernel_name"]) == ("3.13", "python3")
    assert (languages["javascript"].runtime_version or "").startswith("22.")


async def test_a_relative_directory_is_refused_in_every_language(code: Code) -> None:
    with pytest.raises(InvalidArgument, match="relative"):
        await code.execute_code(CodeExecuteRequest(language="bash", code="pwd", cwd="relative"))


@pytest.mark.parametrize(("language", "text"), [
    ("python", "open('/tmp/not-mine', 'w')"),
    ("javascript", "require('fs').writeFileSync('/tmp/not-mine', '')"),
    ("typescript", "import fs from 'fs'; fs.writeFileSync('/tmp/not-mine' as string, '')"),
    ("bash", "echo > /tmp/not-mine"),
])  # fmt: skip
@pytest.mark.parametrize("stateful", [False, True])
async def test_isolated_code_is_kept_from_what_its_policy_says_in_every_language(
    code: Code, language: Language, text: str, stateful: bool
) -> None:
    if language == "bash" and stateful:
        return
    request = {"language": language, "code": text, "stateful": stateful, "isolation": {"write": {"allow": []}}}
    with anyio.fail_after(60):
        done = (await code.execute_code(CodeExecuteRequest.model_validate(request))).data
    assert done.status == "error"
    assert "ermission denied" in f"{done.stderr}{done.traceback}"
