"""The dependency audit against a service of our own that speaks its protocol."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from config.audit import pinned


class Service:
    """Knows a fault of each package in `faults`; keeps what it was asked."""

    def __init__(self) -> None:
        self.faults: dict[str, str] = {}
        self.asked: list[dict[str, Any]] = []
        self.broken = False
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.asked = json.loads(body)["queries"]
                names = [query["package"]["name"] for query in service.asked]
                results = [{"vulns": [{"id": service.faults[n]}]} if n in service.faults else {} for n in names]
                answer = b"<html>" if service.broken else json.dumps({"results": results}).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments: Any) -> None:
                """Quiet."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def audit(address: str) -> str:
    out = io.StringIO()
    call_command("audit_dependencies", service=address, stdout=out)
    return out.getvalue()


def test_every_locked_package_is_asked_for_with_its_version(service: Service) -> None:
    assert "No known faults" in audit(service.address)
    asked = [(query["package"]["name"], query["version"]) for query in service.asked]
    assert asked == pinned(settings.BASE_DIR / "requirements.txt")
    assert len(asked) > 50
    assert {query["package"]["ecosystem"] for query in service.asked} == {"PyPI"}


def test_a_known_fault_fails_and_is_named(service: Service) -> None:
    service.faults["django"] = "GHSA-test-0000"
    with pytest.raises(CommandError, match=r"django \S+: GHSA-test-0000"):
        audit(service.address)


def test_no_answer_is_said_and_is_no_failure(service: Service) -> None:
    service.broken = True
    assert audit(service.address).startswith("Skipped: ")
    assert audit("http://127.0.0.1:9").startswith("Skipped: ")


def test_pins_are_read_with_extras_and_without_hashes(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("one==1.2 \\\n    --hash=sha256:aa\n    # via x\ntwo-b[extra,c]==3.4.post1\n", encoding="utf-8")
    assert pinned(lock) == [("one", "1.2"), ("two-b", "3.4.post1")]
