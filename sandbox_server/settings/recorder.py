"""The audit log and recordings of the screen: a section of `settings`. Stdlib only, for the sake of boot."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, HTTP_URL, SECRET, TEXT, Secret, integer, seconds, variable


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """The flight recorder"""

    on: bool = variable("RECORDER", BOOLEAN, True, "Record every call (the audit log). A volume at `/run/sandbox-recorder` keeps it.")
    output: bool = variable("RECORDER_OUTPUT", BOOLEAN, True, "Record the end of a command's output, without what looks like a secret.")
    otlp: str | None = variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT", HTTP_URL, None, "Collector that gets every call as a span, by OTLP over HTTP (JSON)."
    )
    otlp_headers: Secret | None = variable(
        "OTEL_EXPORTER_OTLP_HEADERS", SECRET, None, "Header fields that it requires: `name=value,name=value`."
    )
    otlp_service: str | None = variable("OTEL_SERVICE_NAME", TEXT, None, "The sandbox's name there. Unset: `tandem`.")
    video: bool = variable(
        "RECORDER_VIDEO", BOOLEAN, True, "Record the screen while someone acts on it. Nothing is recorded while it is still."
    )
    video_seconds: float = variable(
        "RECORDER_VIDEO_SECONDS", seconds(60, 31536000), 3600.0, "How long recordings are kept that nobody pinned."
    )
    video_bytes: int = variable(
        "RECORDER_VIDEO_BYTES",
        integer(1 << 20, 1 << 42),
        256 << 20,
        "Bytes that recordings may take. The oldest go first. Up to half of it can be pinned.",
    )
    max_bytes: int = variable("RECORDER_MAX_BYTES", integer(1 << 20, 1 << 40), 64 << 20, "Bytes that events may take. The oldest go first.")
