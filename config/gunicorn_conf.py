"""gunicorn's settings; the command line overrules them."""

from __future__ import annotations

import gc
import os
from typing import Any

workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "gthread"
# more than CONCURRENT_REQUESTS: the others hold a request that waits for its turn, or answer probes
threads = 16
# A full search answers in well under a second and a PDF in a few; what takes longer hangs.
timeout = 60
graceful_timeout = 30
# Slow memory growth of any library ends with the worker; the spread keeps workers from leaving together. A new worker
# takes seconds to start: at thousands of answers a second it must not come every few seconds.
max_requests = 500_000
max_requests_jitter = 50_000
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108 (heartbeat file, never on a slow disk)
accesslog = None
control_socket_disable = True  # two sites of one user would share its path
raw_env = ["OPENBLAS_NUM_THREADS=1"]  # our kernels are element-wise; a thread pool per worker only takes memory


def post_worker_init(worker: Any) -> None:
    """What was imported lives as long as the worker: a full collection that walks it costs 50 ms of some answer."""
    gc.collect()
    gc.freeze()
