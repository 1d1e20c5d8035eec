import io
import zipfile

from tests.image.sdk.calls import Calls, a_path, drives


def archive(name: str) -> tuple[str, io.BytesIO, str]:
    """A zip with one skill, as the SDK takes files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("SKILL.md", f"---\nname: {name}\ndescription: from a zip\n---\nUnpack it.\n")
    packed.seek(0)
    return f"{name}.zip", packed, "application/zip"


@drives("skills.register_skills", "skills.list_metadata", "skills.get_content", "skills.delete_skill", "skills.clear_skills")
async def skills(calls: Calls) -> None:
    folder = a_path("skills")
    first = (await calls("skills.register_skills", file=archive("first"), path=folder)).data
    second = (await calls("skills.register_skills", file=archive("second"), path=folder, name="other")).data
    listed = (await calls("skills.list_metadata", names="second,first")).data.skills
    content = (await calls("skills.get_content", name="second")).data
    deleted = (await calls("skills.delete_skill", name="first")).data
    cleared = (await calls("skills.clear_skills")).data

    assert (first.count, first.registered[0].path, second.registered[0].path) == (1, f"{folder}/first", f"{folder}/other")
    assert [skill.name for skill in listed] == ["second", "first"]
    assert listed[0].metadata["description"] == "from a zip"
    assert content.content == "Unpack it.\n"
    assert (deleted.name, cleared["cleared"]) == ("first", ["second"])
    assert (await calls.fails("skills.get_content", name="second")).status_code == 404
