"""A server like the one in production, and a client that keeps it busy: wrk where it is installed, else threads."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

CONNECTIONS = 8
START_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """What is asked again and again. `{n}` in the body becomes the running number of the request."""

    path: str
    body: str | None = None


class LoadError(Exception):
    """The server did not start, or answered with an error."""


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    pid: int

    def worker_peak_mib(self) -> float:
        """Largest resident size of any worker process so far."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").split()
        peaks = [re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{child}/status").read_text()) for child in children]
        return max(int(found[1]) for found in peaks if found) / 1024


@contextmanager
def serving() -> Iterator[Server]:
    """gunicorn with the settings of config/gunicorn_conf.py on a free port, and one worker.

    With two, chance decides how a handful of kept connections fall on them, and rates differ by a factor of two.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "-c", "python:config.gunicorn_conf", "--log-level", "error"]
    process = subprocess.Popen(  # noqa: S603 - our own server
        [*command, "--workers", "1", "--bind", f"127.0.0.1:{port}", "config.bench.site:application"],
        cwd=settings.BASE_DIR,
    )
    try:
        wait_until_alive(port, process)
        yield Server(port, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def wait_until_alive(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if status_of(port, Shot(path="/healthz")) == 200:
                return
        except OSError:
            time.sleep(0.2)
    raise LoadError("The server did not start.")


def status_of(port: int, shot: Shot) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        return send(connection, shot, 1)
    finally:
        connection.close()


def send(connection: http.client.HTTPConnection, shot: Shot, number: int) -> int:
    if shot.body is None:
        connection.request("GET", shot.path)
    else:
        body = shot.body.replace("{n}", str(number))
        connection.request("POST", shot.path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response.status


def requests_per_second(port: int, shot: Shot, seconds: float, first_number: int = 0) -> float:
    """Completed requests per second over CONNECTIONS connections; any answer but 200 raises LoadError."""
    client: Callable[[int, Shot, float, int], float] = with_wrk if shutil.which("wrk") else with_threads
    return client(port, shot, seconds, first_number)


LUA = """
local n = {first}
request = function()
  n = n + 1
  local body = string.gsub({body}, "{{n}}", tostring(n))
  return wrk.format("POST", {path}, {{["Content-Type"] = "application/json"}}, body)
end
"""


def with_wrk(port: int, shot: Shot, seconds: float, first_number: int) -> float:
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "--timeout", "30s"]
    with tempfile.NamedTemporaryFile("w", suffix=".lua", encoding="utf-8") as script:
        if shot.body is not None:
            script.write(LUA.format(first=first_number, body=json.dumps(shot.body), path=json.dumps(shot.path)))
            script.flush()
            command += ["-s", script.name]
        command.append(f"http://127.0.0.1:{port}{shot.path}")
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    if "Non-2xx" in output or "Socket errors" in output:
        raise LoadError(f"{shot.path}: {output.strip()[-300:]}")
    found = re.search(r"Requests/sec:\s+([\d.]+)", output)
    if found is None:
        raise LoadError(f"{shot.path}: wrk printed no rate.")
    return float(found[1])


def with_threads(port: int, shot: Shot, seconds: float, first_number: int) -> float:
    """Python's own client takes part of the processor too, so rates are lower; ratios still compare."""
    end = time.monotonic() + seconds
    counts: list[int] = [0] * CONNECTIONS
    faults: list[int] = []

    def work(index: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.monotonic() < end and not faults:
            status = send(connection, shot, first_number + counts[index] * CONNECTIONS + index)
            if status != 200:
                faults.append(status)
            counts[index] += 1
        connection.close()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(CONNECTIONS)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise LoadError(f"{shot.path} answered {faults[0]}.")
    return sum(counts) / (time.monotonic() - begin)
