"""What is written down and filmed of what happens: a section of `settings`. Stdlib only, for the sake of boot."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, HTTP_URL, SECRET, TEXT, Secret, integer, seconds, variable


@dataclass(frozen=True, slots=True)
class Recorder:
    """The flight recorder"""

    on: bool = variable("RECORDER", BOOLEAN, True, "Whether it is written down who did what. A volume at `/run/sandbox-recorder` keeps it.")
    otlp: str | None = variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT", HTTP_URL, None, "Collector that every call is told to as a span, by OTLP over HTTP (JSON)."
    )
    otlp_headers: Secret | None = variable(
        "OTEL_EXPORTER_OTLP_HEADERS", SECRET, None, "Header fields that it asks for: `name=value,name=value`."
    )
    otlp_service: str | None = variable("OTEL_SERVICE_NAME", TEXT, None, "What the sandbox is called there. Unset: `tandem`.")
    video: bool = variable(
        "RECORDER_VIDEO", BOOLEAN, True, "Whether the screen is filmed while somebody acts on it; where it is still, nothing is."
    )
    video_seconds: float = variable("RECORDER_VIDEO_SECONDS", seconds(60, 31536000), 3600.0, "How long films are kept that nobody pinned.")
    video_bytes: int = variable(
        "RECORDER_VIDEO_BYTES",
        integer(1 << 20, 1 << 42),
        256 << 20,
        "Bytes that they may take; the oldest go. Up to half of it can be pinned.",
    )
    max_bytes: int = variable("RECORDER_MAX_BYTES", integer(1 << 20, 1 << 40), 64 << 20, "Bytes that the events may take; the oldest go.")
