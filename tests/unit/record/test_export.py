"""Copies for sharing: no identity of the original is in them. tests/unit/records shows that they have its figures."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.records.golden import unpack
from whyperf.cli import main
from whyperf.plan.model import identify
from whyperf.record import Experiment
from whyperf.record.export.pseudonyms import Pseudonyms

#: Everything of the planted original that says whose hosts were measured.
IDENTITIES = (
    *("db7.prod.acme-corp.example", "db7", "web3.acme-corp.example", "acme-corp", "alicia", "robertine"),
    *("10.20.30.41", "10.20.30.42", "2a02:aa08:e000::17", "52:54:00:12:ab:cd"),
    *("/srv/alicia/plans", "/var/lib/acme", "user-1000.slice", "enp3s0f1", "br-acme", "oracle-acmed"),
    *("3f1c2a9e-0000-4000-8000-0123456789ab", "Acme Linux", "acme-build7", "31337", "25276502016"),
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def export(kind: str) -> Path:
    """The copy of a stored result."""
    assert main(["export", f"results/{kind}", "--anonymize", "--out", f"results/copy-{kind}"]) == 0
    return Path(f"results/copy-{kind}")


def rewrite(path: Path, change: Any) -> None:
    """Changes a JSON document."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def planted(kind: str, folder: Path) -> Path:
    """A stored result with identities in every place that can hold one."""
    unpack(kind, folder)
    source = folder / "results" / kind

    def of_host(name: str, boot: str) -> Any:
        def change(facts: dict[str, Any]) -> None:
            facts |= {"hostname": name, "boot_id": boot, "distribution": "Acme Linux 4", "memory_bytes": 25276502016}
            facts["kernel"] = "6.18.44-acme-build7"
            facts["devices"][-1]["name"] = "enp3s0f1"
            facts["devices"].append({**facts["devices"][-1], "name": "br-acme"})
            facts["abilities"][0]["reason"] = "alicia may not open /srv/alicia/plans/x on db7.prod.acme-corp.example"

        return change

    rewrite(source / "hosts/near.json", of_host("db7.prod.acme-corp.example", "3f1c2a9e-0000-4000-8000-0123456789ab"))
    rewrite(source / "hosts/far.json", of_host("web3.acme-corp.example", "3f1c2a9e-0000-4000-8000-0123456789ab"))
    (source / "profile.toml").write_text(
        '# of robertine at acme\nabout = "for robertine, db7 to web3.acme-corp.example"\n'
    )
    made = Experiment.open(source)
    plan = made.plan.model_copy(
        update={
            "target": "robertine@web3.acme-corp.example",
            "near": ("alicia@10.20.30.41",),
            "profile": "acme-backup",
            "about": "for robertine, db7 to web3.acme-corp.example",
            "warnings": (
                "web3.acme-corp.example did not answer at 10.20.30.42 (2a02:aa08:e000::17), see /var/lib/acme",
            ),
        }
    )
    (source / "plan.json").write_text(plan.model_copy(update={"id": identify(plan)}).to_json())
    for manifest in (source / "trials").glob("*/manifest.json"):
        rewrite(manifest, of_trial)
        for table in manifest.parent.glob("flows.*.parquet"):
            replace(table, "local_address", "10.20.30.41:40765")
            replace(table, "remote_address", "[2a02:aa08:e000::17]:5201")
        for table in manifest.parent.glob("devices.*.parquet"):
            replace(table, "device", "enp3s0f1")
        sizes = {path.name: path.stat().st_size for path in manifest.parent.glob("*.parquet")}
        rewrite(manifest, lambda document, sizes=sizes: document.update(tables=sizes))
    (source / "explain.json").write_text('{"of": "db7"}')
    (source / "report.html").write_text("<p>db7</p>")
    return source


def of_trial(document: dict[str, Any]) -> None:
    """Identities in a manifest."""
    near = document["hosts"]["near"]
    near["notes"].append(
        {"note": "busy_process", "name": "oracle-acmed", "pid": 31337, "cpu_ns": 9_000_000_000, "wall_ns": 1}
    )
    near["spec"]["connect_address"] = "10.20.30.42"
    near["evidence"]["reason"] = "52:54:00:12:ab:cd of br-acme, in /sys/fs/cgroup/user-1000.slice/session-3.scope"


def replace(table: Path, column: str, value: str) -> None:
    """Puts a text into a column."""
    frame = pl.read_parquet(table)
    kept = pl.when(pl.lit(column == "device") & (pl.col(column).cast(pl.String) == "lo")).then(pl.lit("lo"))
    changed = frame.with_columns(kept.otherwise(pl.lit(value)).cast(frame.schema[column]).alias(column))
    changed.write_parquet(table, metadata=dict(pl.read_parquet_metadata(table)))


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Everything a copy holds as text: names of files, documents, and every value and metadata of tables."""
    for path in sorted(folder.rglob("*")):
        yield str(path), path.name
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            yield str(path), frame.write_csv()
            yield str(path), base64.b64decode(pl.read_parquet_metadata(path)["ARROW:schema"]).decode("latin-1")
            yield str(path), path.read_bytes().decode("latin-1")
        elif path.is_file():
            yield str(path), path.read_text()


def test_no_identity_is_in_the_copy(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = planted("stream-segments", here)
    whole = "\n".join(text for _, text in texts(source))
    assert not [name for name in IDENTITIES if name not in whole], "the original has all of them"
    copy = export("stream-segments")
    found = [(where, name) for where, text in texts(copy) for name in IDENTITIES if name.lower() in text.lower()]
    assert not found
    said = capsys.readouterr().out
    assert "3 hosts" in said
    assert "2 users" in said
    assert "Left out: the explanation, the report, the seal." in said


def test_the_same_name_has_the_same_pseudonym(here: Path) -> None:
    planted("stream-segments", here)
    copy = export("stream-segments")
    plan = json.loads((copy / "plan.json").read_text())
    hosts = {side: json.loads((copy / f"hosts/{side}.json").read_text()) for side in ("near", "far")}
    assert plan["target"].partition("@")[2] == hosts["far"]["hostname"] != hosts["near"]["hostname"]
    flows = pl.read_parquet(copy / "trials/001-c0001/flows.near.parquet")
    address, _, port = flows["local_address"][0].rpartition(":")
    assert port == "40765"
    assert plan["near"] == [f"user-1@{address}"] or plan["near"][0].endswith(f"@{address}")
    devices = pl.read_parquet(copy / "trials/001-c0001/devices.near.parquet")["device"].cast(pl.String).unique()
    assert set(devices) <= {device["name"] for device in hosts["near"]["devices"]}


def test_units_of_columns_are_kept(here: Path) -> None:
    planted("stream-segments", here)
    copy = export("stream-segments")
    for path in Path("results/stream-segments").rglob("*.parquet"):
        other = copy / path.relative_to("results/stream-segments")
        assert pl.read_parquet_metadata(other) == pl.read_parquet_metadata(path)


@pytest.mark.parametrize(
    ("text", "anonymous"),
    [
        ("the path to 10.1.2.3:5201 and 10.1.2.3", "the path to 192.0.2.1:5201 and 192.0.2.1"),
        ("fe80::1%enp3s0 from fe80::1", "2001:db8::1%enp3s0 from 2001:db8::1"),
        ("at 00:11:22:33:44:55", "at 02:00:00:00:00:01"),
        ("read /etc/acme/key.pem: 3 KB/s", "read /path-1: 3 KB/s"),
        ("127.0.0.1, ::1 and 198.18.0.1 are everybody's", "127.0.0.1, ::1 and 198.18.0.1 are everybody's"),
        ("2026-11-22T23:20:10.98+00:00 took 12:34:56", "2026-11-22T23:20:10.98+00:00 took 12:34:56"),
    ],
)
def test_what_is_recognized_by_its_form(text: str, anonymous: str) -> None:
    assert Pseudonyms(()).text(text) == anonymous


def test_a_host_named_like_a_word_of_the_result_breaks_nothing(here: Path) -> None:
    unpack("stream-counters", here)
    rewrite(here / "results/stream-counters/hosts/near.json", lambda facts: facts.update(hostname="stream"))
    copy = export("stream-counters")
    assert json.loads((copy / "hosts/near.json").read_text())["hostname"].startswith("host-")
    assert Experiment.open(copy).plan.cells[0].factors["workload"] == "stream"


def test_a_folder_that_is_there_is_never_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unpack("stream-user", here)
    (here / "kept").mkdir()
    (here / "kept/file").write_text("mine")
    assert main(["export", "results/stream-user", "--anonymize", "--out", "kept"]) == 2
    assert "kept is there already; give another folder with --out" in capsys.readouterr().err
    assert (here / "kept/file").read_text() == "mine"


def test_without_anonymize_it_names_the_option(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unpack("stream-user", here)
    assert main(["export", "results/stream-user"]) == 2
    assert "add --anonymize" in capsys.readouterr().err
