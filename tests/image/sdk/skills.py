import io
import zipfile

from tests.image.sdk.calls import Calls, a_path, drives


def archive() -> io.BytesIO:
    """A zip with one skill."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("SKILL.md", "---\nname: zipped\ndescription: from a zip\n---\nUnpack it.\n")
    packed.seek(0)
    return packed


@drives("skills.register_skills", "skills.list_metadata", "skills.get_content", "skills.delete_skill", "skills.clear_skills")
async def skills(calls: Calls) -> None:
    path = a_path("SKILL.md")
    folder = path.removesuffix("/SKILL.md")
    await calls("file.write_file", file=path, content="---\nname: written\n---\nDo it.\n")
    by_path = (await calls("skills.register_skills", path=folder)).data
    by_file = (await calls("skills.register_skills", file=("z.zip", archive(), "application/zip"), path=f"{folder}/more")).data
    listed = (await calls("skills.list_metadata", names="zipped,written")).data.skills
    content = (await calls("skills.get_content", name="zipped")).data
    deleted = (await calls("skills.delete_skill", name="written")).data
    cleared = (await calls("skills.clear_skills")).data

    assert (by_path.count, by_path.registered[0].path, by_file.registered[0].path) == (1, folder, f"{folder}/more/zipped")
    assert [skill.name for skill in listed] == ["zipped", "written"]
    assert listed[0].metadata["description"] == "from a zip"
    assert content.content == "Unpack it.\n"
    assert (deleted.name, cleared["cleared"]) == ("written", ["zipped"])
    assert (await calls.fails("skills.get_content", name="zipped")).status_code == 404
