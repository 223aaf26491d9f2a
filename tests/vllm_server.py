"""A real vLLM server on the CPU for the time of a test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ENVIRONMENT = REPOSITORY / ".venv-vllm"
LAUNCHER = Path(__file__).with_name("vllm_cpu_server.py")
HOST = "127.0.0.1"
START_S, STOP_S = 300.0, 30.0
_SHOWN = 60  # lines of a log


def require_vllm() -> Path:
    """Return the interpreter of vLLM's environment; skip the test without it, or fail where it is required."""
    if not (ENVIRONMENT / ".installed").is_file():
        if os.environ.get("LAMAR_REQUIRE_DATA"):
            pytest.fail(f"vLLM is missing where it is required: {ENVIRONMENT} (run `make vllm-cpu`)")
        pytest.skip(f"vLLM not found: {ENVIRONMENT} (run `make vllm-cpu`)")
    return ENVIRONMENT / "bin" / "python"


@contextmanager
def vllm_server(model: Path, log: Path, *options: str) -> Iterator[str]:
    """Serve the model folder and yield the base URL; what the server says goes into the file `log`.

    Args:
        model: the folder.
        log: a file that is made anew.
        options: of `vllm serve`.

    Raises:
        RuntimeError: the server ended, or was not ready in time; the message ends with its log.
    """
    python, port = require_vllm(), free_port()
    command = [str(python), str(LAUNCHER), str(model), "--host", HOST, "--port", str(port), *options]
    with log.open("wb") as out:
        # A session of its own: the engine's process, too, is ended in any case.
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        _wait_until_ready(process, port, log)
        yield f"http://{HOST}:{port}"
    finally:
        _stop(process)


def free_port() -> int:
    """Return a port that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def end_of_log(log: Path) -> str:
    """Return the last lines of a server's log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_SHOWN:])


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_S
    while not _is_healthy(port):
        if process.poll() is not None:
            raise RuntimeError(f"vLLM ended with status {process.returncode}:\n{end_of_log(log)}")
        if time.monotonic() > end:
            raise RuntimeError(f"vLLM was not ready after {START_S:g} s:\n{end_of_log(log)}")
        time.sleep(0.5)


def _is_healthy(port: int) -> bool:
    connection = HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):  # not listening yet
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_S)
    with suppress(ProcessLookupError):  # nothing of it is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
