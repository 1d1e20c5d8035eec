from tests.image.sdk.calls import Calls, a_path, drives


@drives("util.convert_to_markdown")
async def util(calls: Calls) -> None:
    path = a_path("page.html")
    await calls("file.write_file", file=path, content="<h1>Head</h1><p>A <b>bold</b> word.")

    on_disk = (await calls("util.convert_to_markdown", uri=f"file://{path}")).data
    inline = (await calls("util.convert_to_markdown", uri="data:text/csv,a,b%0A1,2")).data
    refused = await calls.fails("util.convert_to_markdown", uri="http://169.254.169.254/latest/meta-data/")

    assert on_disk.strip() == "# Head\n\nA **bold** word."
    assert inline.splitlines() == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]
    assert (refused.status_code, "internal address" in refused.body["message"]) == (403, True)
