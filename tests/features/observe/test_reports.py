import gzip
import json
from pathlib import Path

import pytest

from sandbox_server.core import NotFound, ResourceExhausted
from sandbox_server.features.observe import reports as module
from sandbox_server.features.observe.reports import Reports


@pytest.fixture
def reports(tmp_path: Path) -> Reports:
    made = Reports(f"{tmp_path}/reports")
    made.prepare()
    (tmp_path / "samples").write_text('{"sample": 1}\n')
    return made


def test_a_report_is_the_session_and_then_its_lines(reports: Reports, tmp_path: Path) -> None:
    report = reports.write({"session_id": "s"}, f"{tmp_path}/samples", "why")
    lines = [json.loads(line) for line in gzip.decompress(Path(report.path).read_bytes()).splitlines()]
    assert lines == [{"session": {"session_id": "s", "reason": "why"}}, {"sample": 1}]
    assert report.size_bytes == Path(report.path).stat().st_size


def test_reports_outlive_the_server_and_what_broke_off_does_not(reports: Reports, tmp_path: Path) -> None:
    report = reports.write({"session_id": "s"}, f"{tmp_path}/samples", "why")
    (tmp_path / "reports/.half.jsonl.gz.new").touch()
    again = Reports(f"{tmp_path}/reports")
    again.prepare()
    assert again.all() == [report]
    assert not (tmp_path / "reports/.half.jsonl.gz.new").exists()


def test_a_deleted_report_is_gone_with_its_file(reports: Reports, tmp_path: Path) -> None:
    report = reports.write({"session_id": "s"}, f"{tmp_path}/samples", "why")
    assert reports.delete(report.report_id) == report
    assert list((tmp_path / "reports").iterdir()) == []
    with pytest.raises(NotFound, match=report.report_id):
        reports.delete(report.report_id)


def test_there_is_a_limit_that_says_what_to_do(reports: Reports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REPORTS", 1)
    reports.write({"session_id": "s"}, f"{tmp_path}/samples", "why")
    with pytest.raises(ResourceExhausted, match="delete one"):
        reports.write({"session_id": "s"}, f"{tmp_path}/samples", "why")
