from tests.image.sdk.calls import Calls, a_path, drives


@drives("display.record")
async def display(calls: Calls) -> None:
    video = a_path("recording.mp4")
    started = (await calls("display.record", action="start", save_path=video, fps=10, crf=30, max_duration=60)).data
    asked = (await calls("display.record", action="status")).data
    stopped = (await calls("display.record", action="stop")).data
    again = (await calls("display.record", action="stop")).data

    assert (started.status, started.save_path, asked.status) == ("recording", video, "recording")
    assert (stopped.status, again.status, stopped.file_size_bytes) == ("stopped", "stopped", again.file_size_bytes)
    assert stopped.duration >= asked.duration
