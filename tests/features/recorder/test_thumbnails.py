"""The pictures that receipts refer to."""

from pathlib import Path

import pytest

from sandbox_server.core import NotFound
from sandbox_server.drivers.recorder.thumbnails import Thumbnails
from sandbox_server.features.recorder.thumbnails import PictureRef, RecordedPictures

pytestmark = pytest.mark.anyio
NAME = "0123456789abcdef-after"


async def test_a_picture_is_given_by_the_name_in_a_receipt(tmp_path: Path) -> None:
    thumbnails = Thumbnails(str(tmp_path))
    thumbnails.write(NAME, b"jpeg")
    assert (await RecordedPictures(thumbnails).get_thumbnail(PictureRef(name=NAME))).body == b"jpeg"
    with pytest.raises(NotFound):
        await RecordedPictures(thumbnails).get_thumbnail(PictureRef(name="../secret"))
