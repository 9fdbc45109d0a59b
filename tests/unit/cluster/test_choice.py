"""What `--cluster` takes, and what it needs."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from whyperf.cluster import HERE, Choice, Kind, choice_of, connected
from whyperf.cluster.versions import own_versions, refuse_other, versions_of
from whyperf.run.errors import RunError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", HERE),
        ("local", Choice(Kind.LOCAL)),
        ("local:3", Choice(Kind.LOCAL, 3)),
        ("slurm:64", Choice(Kind.SLURM, 64)),
        ("kubernetes", Choice(Kind.KUBERNETES)),
        ("tcp://head:8786", Choice(Kind.SCHEDULER, address="tcp://head:8786")),
        ("tls://[2001:db8::1]:8786/", Choice(Kind.SCHEDULER, address="tls://[2001:db8::1]:8786")),
    ],
)
def test_where_to_work(text: str, expected: Choice) -> None:
    assert choice_of(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "is not known"),
        ("scheduler", "is not known"),
        ("none:2", "is not known"),
        ("head:8786", "tcp://host:8786"),
        ("http://head", "is not known"),
        ("local:", '"" is no number'),
        ("local:0", '"0" is no number'),
        ("slurm:-1", '"-1" is no number'),
        ("slurm:10001", "from 1 to 10000"),
    ],
)
def test_what_is_no_place_to_work_is_named(text: str, named: str) -> None:
    with pytest.raises(RunError, match=named.replace(".", r"\.")):
        choice_of(text)


@pytest.mark.parametrize(
    ("choice", "module", "extra"),
    [
        ("local", "distributed", "whyperf[cluster]"),
        ("slurm", "dask_jobqueue", "whyperf[slurm]"),
        ("kubernetes", "dask_kubernetes", "whyperf[kubernetes]"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, choice: str, module: str, extra: str
) -> None:
    import_module("distributed")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RunError) as caught, connected(choice_of(choice), print):
        pass
    name = module.replace("_", "-")
    assert str(caught.value) == f"--cluster needs the package {name}; install {extra}"


class _Refusing:
    """Stands for KubeCluster where there is no cluster."""

    def __init__(self, **options: Any) -> None:
        raise RuntimeError(f"no cluster for {options['n_workers']} workers.\nMore lines")


def test_a_batch_system_that_starts_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = ModuleType("dask_kubernetes.operator")
    operator.KubeCluster = _Refusing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dask_kubernetes", ModuleType("dask_kubernetes"))
    monkeypatch.setitem(sys.modules, operator.__name__, operator)
    named = "KubeCluster cannot start workers: no cluster for 3 workers; see"
    with pytest.raises(RunError, match=named), connected(choice_of("kubernetes:3"), print):
        pass


def reported(**changed: str | None) -> dict[str, Any]:
    """As Dask reports this host's versions, with changes."""
    own = own_versions()
    packages: dict[str, str | None] = {name: own[name] for name in own if name != "Python"}
    python = changed.pop("python", f"{own['Python']}.4.final.0")
    return {"host": {"python": python}, "packages": packages | changed}


def test_a_worker_like_this_host_is_taken() -> None:
    refuse_other("tcp://w:1", versions_of(reported()), own_versions())


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"python": "3.9.1.final.0"}, "the worker tcp://w:1 has Python 3.9, and this host"),
        ({"polars": "0.1"}, "has polars 0.1, and this host"),
        ({"whyperf": None}, "has no whyperf, and this host"),
    ],
)
def test_a_worker_that_differs_is_named_with_both_versions(changed: dict[str, str | None], named: str) -> None:
    with pytest.raises(RunError, match=named):
        refuse_other("tcp://w:1", versions_of(reported(**changed)), own_versions())
