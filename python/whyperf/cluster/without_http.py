"""Dask's scheduler and worker without their HTTP servers, which have no keys: they answer everybody who reaches them.

Dask has no setting for this: without a dashboard the server still listens.
"""

from typing import Any

from distributed import Scheduler as DaskScheduler
from distributed import Worker as DaskWorker


class Scheduler(DaskScheduler):
    """Listens for peers with keys only."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Opens no port."""


class Worker(DaskWorker):
    """The same. `dask worker --worker-class` names it."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Opens no port."""
