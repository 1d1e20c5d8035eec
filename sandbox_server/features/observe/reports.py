"""Reports: compressed samples of sessions."""

import gzip
import json
import secrets
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox_server.core import Model, NotFound, ResourceExhausted
from sandbox_server.drivers.storage import atomic_write

MAX_REPORTS = 50


class ObservationReport(Model):
    report_id: str
    session_id: str | None = None
    reason: str = "manual"
    created_at: datetime
    path: str
    """Path of the file. Download it to read it: only the sandbox may enter that directory."""
    size_bytes: int


class Reports:
    """Gzip files in a directory, each with a JSON file of metadata. They survive a restart of the server."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def prepare(self) -> None:
        """Make the directory, and remove the remains of interrupted exports."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in self._directory.glob("*.new"):
            file.unlink()

    def all(self) -> list[ObservationReport]:
        """Return the reports, oldest first."""
        found = [ObservationReport.model_validate_json(file.read_bytes()) for file in self._directory.glob("*.json")]
        return sorted(found, key=lambda report: report.created_at)

    def get(self, report_id: str) -> ObservationReport:
        """Return a report; raises NotFound."""
        for report in self.all():
            if report.report_id == report_id:
                return report
        raise NotFound(f"there is no report {report_id!r}", report_id=report_id)

    def write(self, header: Mapping[str, Any], samples: str, reason: str) -> ObservationReport:
        """Compress the file `samples` after a first line with the header; raises ResourceExhausted at the limit of reports."""
        if len(self.all()) >= MAX_REPORTS:
            raise ResourceExhausted(f"at most {MAX_REPORTS} reports are allowed: delete one first", limit=MAX_REPORTS)
        report_id, created_at = secrets.token_hex(8), datetime.now(UTC)
        path = self._directory / f"{report_id}.jsonl.gz"
        with atomic_write.replacing(path) as file, gzip.open(file, "wb") as packed, open(samples, "rb") as found:
            packed.write(json.dumps({"session": dict(header) | {"reason": reason}}).encode() + b"\n")
            shutil.copyfileobj(found, packed)
        session_id = str(header["session_id"])
        info = ObservationReport(
            report_id=report_id,
            session_id=session_id,
            reason=reason,
            created_at=created_at,
            path=str(path),
            size_bytes=path.stat().st_size,
        )
        atomic_write.replace(self._directory / f"{report_id}.json", info.model_dump_json())
        return info

    def delete(self, report_id: str) -> ObservationReport:
        """Remove a report; raises NotFound."""
        report = self.get(report_id)
        (self._directory / f"{report_id}.json").unlink(missing_ok=True)
        Path(report.path).unlink(missing_ok=True)
        return report
