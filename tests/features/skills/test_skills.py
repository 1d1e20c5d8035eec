import logging
import os
from pathlib import Path

import pytest

from sandbox_server.core import InvalidArgument, NotFound, ResourceExhausted, TooLarge
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.skills import skills as module
from sandbox_server.features.skills.folders import SkillFolders
from sandbox_server.features.skills.skills import ListSkillsRequest, LoadSkillRequest, SkillRef, SkillRegistrationResult, Skills
from tests.features.forms import SentForm, SentPart
from tests.features.skills.conftest import make_skill, packed, skill_text

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> JsonFile:
    return JsonFile(f"{tmp_path}/skills.json")


@pytest.fixture
def skills(files: Files, folders: SkillFolders, store: JsonFile) -> Skills:
    return Skills(files, folders, store, ())


async def register(skills: Skills, *parts: SentPart, **fields: str) -> SkillRegistrationResult:
    answer: SkillRegistrationResult = await skills.register_skills(SentForm(*parts, fields_last=True, **fields))
    return answer


async def names(skills: Skills) -> list[str]:
    return [skill.name for skill in (await skills.list_metadata(ListSkillsRequest())).skills]


async def test_a_folder_is_registered_read_and_forgotten(skills: Skills, home: Path) -> None:
    folder = make_skill(home / "pdf")
    answer = await register(skills, path=str(folder))
    assert (answer.count, answer.registered[0].metadata) == (1, {"description": "for tests"})
    content = await skills.get_content(SkillRef(name="pdf"))
    assert (content.path, content.content) == (str(folder), "Do it.\n")
    assert (await skills.delete_skill(SkillRef(name="pdf"))).name == "pdf"
    assert await names(skills) == []
    assert (folder / "SKILL.md").exists()


async def test_an_archive_is_unpacked_at_home_unless_a_path_is_given(skills: Skills, home: Path) -> None:
    answer = await register(skills, SentPart("x.zip", packed(SKILL=skill_text("zipped"))))
    assert answer.registered[0].path == f"{home}/.skills/zipped"
    answer = await register(skills, SentPart("x.zip", packed(SKILL=skill_text("zipped"))), path=f"{home}/else", name="other")
    assert answer.registered[0].path == f"{home}/else/other"
    assert await names(skills) == ["zipped"]
    assert not [name for name in os.listdir("/tmp") if name.startswith("skill-")]


async def test_registered_skills_outlive_the_server(
    skills: Skills, files: Files, folders: SkillFolders, store: JsonFile, home: Path
) -> None:
    await register(skills, path=str(make_skill(home / "pdf")))
    assert await names(Skills(files, folders, store, ("/nonexistent",))) == ["pdf"]


async def test_what_is_asked_for_is_listed_and_what_is_not_there_is_named(skills: Skills, home: Path) -> None:
    for name in ("a", "b", "c"):
        await register(skills, path=str(make_skill(home / name)))
    listed = await skills.list_metadata(ListSkillsRequest(names="c, a"))
    assert [skill.name for skill in listed.skills] == ["c", "a"]
    with pytest.raises(NotFound, match="'z'"):
        await skills.list_metadata(ListSkillsRequest(names="z"))
    with pytest.raises(NotFound, match="'z'"):
        await skills.get_content(SkillRef(name="z"))


async def test_clearing_tells_what_was_there(skills: Skills, home: Path) -> None:
    await register(skills, path=str(make_skill(home / "pdf")))
    assert (await skills.clear_skills()).cleared == ["pdf"]
    assert (await skills.clear_skills()).cleared == []


async def test_a_form_with_nothing_names_what_is_missing(skills: Skills) -> None:
    for parts in ((), (SentPart("", b""),)):
        with pytest.raises(InvalidFields) as refused:
            await register(skills, *parts)
        assert refused.value.problems[0]["loc"] == ("body", "path")


async def test_only_one_archive_is_accepted_per_call(skills: Skills) -> None:
    part = SentPart("x.zip", packed(SKILL=skill_text("x")))
    with pytest.raises(InvalidFields):
        await register(skills, part, part)


async def test_an_archive_that_is_too_large_is_refused_while_it_arrives(skills: Skills, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ARCHIVE", 4)
    with pytest.raises(TooLarge):
        await register(skills, SentPart("x.zip", b"123", b"45", None))


async def test_a_name_that_cannot_be_one_is_refused(skills: Skills, home: Path) -> None:
    with pytest.raises(InvalidArgument, match="a/b"):
        await register(skills, path=str(make_skill(home / "x", "a/b")))


async def test_two_skills_of_one_name_are_refused(skills: Skills, home: Path) -> None:
    make_skill(home / "all/one", "same")
    make_skill(home / "all/two", "same")
    with pytest.raises(InvalidArgument, match="two of these"):
        await register(skills, path=f"{home}/all")


async def test_there_is_a_limit(skills: Skills, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SKILLS", 1)
    await register(skills, path=str(make_skill(home / "a")))
    await register(skills, path=str(home / "a"))
    with pytest.raises(ResourceExhausted):
        await register(skills, path=str(make_skill(home / "b")))


async def test_configured_skills_are_there_from_the_start_and_bad_ones_are_left_out(
    files: Files, folders: SkillFolders, store: JsonFile, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_skill(home / "given/pdf")
    with caplog.at_level(logging.WARNING):
        assert await names(Skills(files, folders, store, ("/nonexistent", f"{home}/given"))) == ["pdf"]
    assert "/nonexistent" in caplog.text


async def test_an_agent_lists_skills_and_loads_one(skills: Skills, home: Path) -> None:
    assert (await skills.load_skill(LoadSkillRequest())).text == "There are no skills."
    folder = make_skill(home / "pdf")
    await register(skills, path=str(folder))
    assert (await skills.load_skill(LoadSkillRequest())).text == "pdf: for tests"
    loaded = await skills.load_skill(LoadSkillRequest(name="pdf"))
    assert (loaded.text, loaded.path) == ("Do it.\n", str(folder))
