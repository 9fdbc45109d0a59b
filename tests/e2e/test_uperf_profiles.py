"""Profiles of uperf on the real engine: bytes and operations exact on both sides, and what wrappers read."""

import re
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import Done, whyperf
from tests.unit.profile.uperf.uperf_profiles import (
    ACCEPT,
    BULK,
    CONNECT,
    CONNECT_REQUEST_RESPONSE,
    DATABASE,
    DATAGRAMS,
    OPERATOR_RR,
    PILE,
    TERMINAL,
    TWO_GROUPS,
    TWO_HOSTS,
    VARIABLES,
    VOICE,
    WEB,
    flowops,
)
from whyperf.record import Experiment, read_table

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

KIB = 1024
WEB_COUNTS = (2 * 17 * 250, 2 * (7 * (100 + 2 * KIB) + 3 * 40), 2 * 11, 2 * (28 + 6))
COUNTS = flowops('<flowop type=write options="count=7 size=999"/>', transaction="iterations=3")
#: Of each profile: bytes that the near side sends and receives, transactions, operations that move payload. What
#: differs most between the I/O models is run on all: many sizes in each direction, and connections that open.
EXACT = [
    pytest.param(CONNECT, "blocking", (0, 0, 3 * 5, 0), id="connect"),
    pytest.param(ACCEPT, "epoll", (0, 0, 3 * 5, 0), id="accept"),
    # What connects ten times is one execution of ten steps.
    pytest.param(PILE, "blocking", (0, 0, 3 * 2, 0), id="pile"),
    pytest.param(PILE, "epoll", (0, 0, 3 * 2, 0), id="pile, epoll"),
    pytest.param(PILE, "io_uring", (0, 0, 3 * 2, 0), id="pile, io_uring"),
    pytest.param(TERMINAL, "io_uring", (1, 4 * KIB, 1, 2), id="terminal"),
    pytest.param(WEB, "blocking", WEB_COUNTS, id="web"),
    pytest.param(WEB, "epoll", WEB_COUNTS, id="web, epoll"),
    pytest.param(WEB, "io_uring", WEB_COUNTS, id="web, io_uring"),
    pytest.param(DATABASE, "epoll", (50 * 20 * 360, 50 * 20 * 500, 50 * 21, 50 * 100), id="database"),
    pytest.param(TWO_GROUPS, "blocking", (2 * 640 * KIB + 80 * KIB, 0, 2 * 11 + 1, 2 * 10 + 10), id="two groups"),
    pytest.param(COUNTS, "io_uring", (20_979, 0, 3, 21), id="counts"),
]
#: Profiles that end by the clock.
TIMED = {"connect-request-response": CONNECT_REQUEST_RESPONSE, "two-hosts": TWO_HOSTS, "operator-rr": OPERATOR_RR}
RAW = re.compile(r"timestamp_ms:([\d.]+) name:Txn2 nr_bytes:(\d+) nr_ops:(\d+)")


#: Runs a command and writes the memory of its largest descendant in KiB; those of other tests are not among them.
MEASURED = (
    sys.executable,
    "-c",
    "import resource, subprocess, sys; status = subprocess.call(sys.argv[1:]); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=open('memory', 'w')); sys.exit(status)",
)


def run(folder: Path, text: str, *arguments: str, before: tuple[str, ...] = ()) -> Done:
    """Runs a profile with the variables."""
    (folder / "p.xml").write_text(text)
    arguments = (
        ("--out", "results", "--set", "io_model=blocking") if not arguments else ("--out", "results", *arguments)
    )
    done = whyperf("run", "p.xml", "--no-report", *arguments, folder=folder, environment=VARIABLES, before=before)
    assert done.status == 0, done.err
    return done


def transactions(folder: Path) -> pl.DataFrame:
    """Sums of the table by end and transaction."""
    experiment = Experiment.open(folder / "results")
    (manifest,) = experiment.trials().manifests.values()
    assert (manifest.status, manifest.reason) == ("complete", None)
    table = read_table(experiment, "transactions").frame
    counted = [column for column in table.columns if column.endswith(("_count", "_bytes"))]
    return table.group_by("host", "transaction").agg(pl.col(counted).cast(pl.Int64).sum())


def of_end(sums: pl.DataFrame, host: str, *columns: str) -> list[int]:
    """Sums over all transactions of an end."""
    return [int(value) for value in sums.filter(host=host).select(pl.col(columns).sum()).row(0)]


@pytest.mark.parametrize(("text", "io_model", "counts"), EXACT)
def test_bytes_and_operations_are_exact(
    tmp_path: Path, text: str, io_model: str, counts: tuple[int, int, int, int]
) -> None:
    sent, received, executions, operations = counts
    run(tmp_path, text, "--set", f"io_model={io_model}")
    sums = transactions(tmp_path)
    columns = ("sent_bytes", "received_bytes", "transactions_count", "operations_count", "failed_count")
    assert of_end(sums, "near", *columns) == [sent, received, executions, operations, 0]
    assert of_end(sums, "far", *columns) == [received, sent, executions, operations, 0]


@pytest.mark.parametrize("name", TIMED)
def test_both_sides_count_the_same_until_the_time_is_up(tmp_path: Path, name: str) -> None:
    run(tmp_path, TIMED[name])
    sums = transactions(tmp_path)
    sent, received = of_end(sums, "near", "sent_bytes", "received_bytes")
    assert of_end(sums, "far", "received_bytes", "sent_bytes") == [sent, received]
    assert sent > 0
    if name == "connect-request-response":
        count, failed = of_end(sums, "near", "transactions_count", "failed_count")
        assert failed == 0
        assert sent >= 200 * count
        assert received >= 1000 * count


def test_files_are_sent_whole(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "A").write_bytes(bytes(100_000))
    text = flowops('<flowop type=sendfile options="dir=$dir size=4k"/>', transaction="iterations=5")
    (tmp_path / "p.xml").write_text(text)
    environment = {"dir": str(tmp_path / "files")}
    done = whyperf("run", "p.xml", "--out", "results", folder=tmp_path, environment=environment)
    assert done.status == 0, done.err
    assert f"The workload sends files of this host to testbed: {tmp_path}/files/A\n" in done.err
    assert of_end(transactions(tmp_path), "far", "received_bytes") == [500_000]
    secret = tmp_path / "files" / "secret"
    secret.symlink_to("/etc/hostname")
    done = whyperf("run", "p.xml", "--out", "other", folder=tmp_path, environment=environment)
    assert done.status == 2
    assert "the workload sends /etc/hostname, which is not below" in done.sentence
    assert not (tmp_path / "other").exists()


@pytest.mark.paced
def test_datagrams_at_a_rate(tmp_path: Path) -> None:
    """4 virtual users, 50 a second each, for 0.4 s: 80 datagrams of 160 bytes, or one more or less at the edge."""
    run(tmp_path, VOICE)
    sums = transactions(tmp_path)
    (sent,) = of_end(sums, "near", "sent_bytes")
    (received,) = of_end(sums, "far", "received_bytes")
    assert received <= sent
    assert 70 * 160 <= sent <= 84 * 160


@pytest.mark.parametrize(
    ("protocol", "io_model"),
    [
        ("udp", "blocking"),
        ("tcp", "epoll"),
    ],
)
def test_one_connection_after_another_is_exact(tmp_path: Path, io_model: str, protocol: str) -> None:
    run(tmp_path, DATAGRAMS.replace("protocol=udp", f"protocol={protocol}"), "--set", f"io_model={io_model}")
    sums = transactions(tmp_path)
    columns = ("sent_bytes", "received_bytes", "transactions_count", "failed_count")
    sent, received = 2 * (12 + 5) * 600, 2 * (8 + 5) * 300
    # Those that connect and disconnect while the load runs are transactions, too.
    assert of_end(sums, "near", *columns) == [sent, received, 2 * (25 + 4), 0]
    assert of_end(sums, "far", *columns) == [received, sent, 2 * (25 + 4), 0]


def test_what_wrappers_read(tmp_path: Path) -> None:
    done = run(tmp_path, BULK.replace("$dur", "1500ms"), "--format", "uperf", "-i", "0.5")
    assert re.findall(r"running profile:(.*) \.\.\.", done.out) == ["bulk"]
    found = [(float(at), int(octets), int(operations)) for at, octets, operations in RAW.findall(done.out)]
    assert len(found) >= 4
    assert found == sorted(found)
    assert found[0][1:] == (0, 0)
    (sent,) = transactions(tmp_path).filter(host="near", transaction="Txn2")["sent_bytes"].to_list()
    assert found[-1][1] == sent
    again = whyperf("show", "results", "--format", "uperf", "-i", "0.5", folder=tmp_path)
    assert again.out == done.out


def test_a_profile_that_cannot_run_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(BULK)
    done = whyperf("run", "p.xml", folder=tmp_path, environment=VARIABLES | {"proto": "vsock"})
    assert done.status == 2
    assert done.sentence.startswith("whyperf: p.xml: line 5: protocol=vsock cannot run; whyperf has no VSOCK")
    assert [path.name for path in tmp_path.iterdir()] == ["p.xml"]


@pytest.mark.slow
def test_many_virtual_users_with_a_thread_each_take_little_memory(tmp_path: Path) -> None:
    users = 3000
    exchange = '<flowop type={} options="size=64"/>'
    text = flowops(
        exchange.format("write"),
        exchange.format("read"),
        group=f'nthreads="{users}"',
        transaction="iterations=3",
    )
    run(tmp_path, text, "--set", "io_model=blocking", "--testbed", "loopback", before=MEASURED)
    # The largest process of all: an agent. Histograms of its own for each thread would be 4 GB.
    assert int((tmp_path / "memory").read_text()) < KIB * KIB
    (count,) = of_end(transactions(tmp_path), "near", "transactions_count")
    assert count == users * 3
