"""Copies for sharing: no identity of the original is in them. tests/whole/records shows that they have its figures."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from tests.unit.record.record_samples import sample_plan
from tests.whole.records.golden import unpack
from whyperf.cli import main
from whyperf.plan import plan_document
from whyperf.plan.plan_document import identify
from whyperf.record import Experiment, RecordError
from whyperf.record.export.documents import anonymous_cell, anonymous_profile
from whyperf.record.export.pseudonyms import KnownNames, Pseudonyms
from whyperf.record.export.tables import copy_table

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
            "testbed": plan_document.Testbed(kind="network"),
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


def test_the_copy_has_no_documents_but_those_of_the_hosts_of_the_plan(here: Path) -> None:
    """Their names could identify, and a folder of somebody else may have any number of them."""
    source = planted("stream-segments", here)
    kept = {path.name for path in (source / "hosts").iterdir()}
    assert kept == {"near.json", "far.json", "probe-cost.json"}
    for name in ("host-of-mallory", "near2", "near02", "near1"):
        (source / "hosts" / f"{name}.json").write_text("{}")
    copy = export("stream-segments")
    assert {path.name for path in (copy / "hosts").iterdir()} == kept


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


#: Asked one after the other of one result: the kind of name, the name, its pseudonym.
ASKED = [
    ("host", "db7.acme.example", "host-1"),
    # Without its domain, and with a user, it is the same host.
    ("host", "db7", "host-1"),
    ("host", "alice@db7", "user-1@host-1"),
    ("host", "alice@10.1.2.3", "user-1@192.0.2.1"),
    # Addresses are numbered together.
    ("host", "[fe80::17]", "2001:db8::2"),
    ("host", "10.1.2.3", "192.0.2.1"),
    ("host", "", ""),
    ("host", "stream", "host-2"),
    ("device", "eth0", "device-1"),
    ("device", "lo", "lo"),
    ("device", "veth-near", "veth-near"),
    ("device", "eth0", "device-1"),
    ("group", "/", "/"),
    ("group", "/user.slice", "/group-1"),
    ("endpoint", "10.1.2.3:80", "192.0.2.1:80"),
    ("endpoint", "[2a02::17]:443", "[2001:db8::3]:443"),
    ("endpoint", "10.1.2.4:x", "192.0.2.4:x"),
    ("endpoint", "/tmp/socket", "socket-1"),
    ("endpoint", "@socket", "socket-2"),
    ("endpoint", "db7:80", "host-1:80"),
    ("endpoint", "[::1]:9", "[::1]:9"),
    ("process", "oracled", "process-1"),
    # In texts, whole words that were named before, and what is recognized by its form.
    ("text", "db7 and db7.acme.example, not db77 or _db7", "host-1 and host-1, not db77 or _db7"),
    ("text", "stream 7 x alice", "stream 7 x user-1"),
    ("text", "the path to 10.1.2.3:5201 and 10.1.2.30", "the path to 192.0.2.1:5201 and 192.0.2.5"),
    ("text", "256.1.1.1, 1.2.3, 1.2.3.4.5", "256.1.1.1, 1.2.3, 1.2.3.4.5"),
    ("text", "fe80::1%enp3s0 from fe80::1", "2001:db8::6%enp3s0 from 2001:db8::6"),
    ("text", "127.0.0.1, ::1 and 198.18.0.1 are everybody's", "127.0.0.1, ::1 and 198.18.0.1 are everybody's"),
    ("text", "2026-11-22T23:20:10.98+00:00 took 12:34:56", "2026-11-22T23:20:10.98+00:00 took 12:34:56"),
    ("text", "52:54:00:12:ab:cd, 52:54:00:12:ab", "02:00:00:00:00:01, 52:54:00:12:ab"),
    ("text", "52-54-00-12-AB-CD", "02:00:00:00:00:02"),
    ("text", "see /home/alice/x.txt: no", "see /path-1: no"),
    ("text", "/proc/sys/net/x stays, /etc alone, 5 KB/s", "/proc/sys/net/x stays, /etc alone, 5 KB/s"),
    ("text", "~/data/a/", "/path-2"),
    ("text", "http://x/y/z", "http://x/y/z"),
    ("text", "/home/alice/x.txt.", "/path-1."),
]


def test_a_name_is_replaced_by_its_kind_and_each_time_by_the_same() -> None:
    known = Pseudonyms(["stream", "window_bytes"])
    assert [getattr(known, kind)(text) for kind, text, _ in ASKED] == [given for _, _, given in ASKED]
    assert [known.number("process number", value) for value in (31337, 31337, 4)] == [1, 1, 2]
    assert known.counts["host"] == 2
    assert known.counts["address"] == 6
    # A word of the result may stand in the copy, an identity may not.
    for name in ("db7", "alice", "10.1.2.3", "eth0", "/home/alice/x.txt"):
        assert known.left_in(f"the copy of {name}") == name
    assert known.left_in("stream 4") is None


def test_names_are_found_as_whole_words_and_the_longest_first() -> None:
    random = Random(1)
    for _ in range(500):
        pieces = ("a", "b1", "_", "-", ".", "/", "é", "\n")
        names = {"".join(random.choices(pieces, k=random.randint(1, 4))) for _ in range(random.randint(1, 8))}
        text = "".join(random.choices(pieces, k=40))
        known = KnownNames()
        for name in names:
            known.add(name)
        either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        form = re.compile(rf"(?<![A-Za-z0-9_])(?:{either})(?![A-Za-z0-9_])")
        assert list(known.found_in(text)) == [(found.start(), found[0]) for found in form.finditer(text)]


@pytest.mark.timeout(60)
def test_many_names_are_replaced_as_fast_as_few() -> None:
    """In hours where each text with a new name is searched for all names before, one by one."""
    known = Pseudonyms(())
    for number in range(50_000):
        known.text(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255} of {number} addresses")
    assert known.counts["address"] == 50_000


def test_a_name_that_none_has_ends_the_copy() -> None:
    with pytest.raises(RecordError, match=r'^the name "a{20}…" has over 4,096 characters, so the result is not'):
        Pseudonyms(()).host("a" * 5000)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<!-->" + "<!--" * 250_000, ""),
        ("<profile " * 100_000, "<profile " * 100_000),
        ("<profile a='b' name='mine'>" * 2, "<profile a='b' name=\"own-profile\">" * 2),
        ('<profile name="mine"/><!-- secret --><!--> <!-- no end', '<profile name="own-profile"/> '),
    ],
)
def test_a_profile_of_uperf_loses_its_comments_and_its_name_whatever_it_holds(text: str, left: str) -> None:
    assert anonymous_profile(text, sample_plan(), Pseudonyms(())) == left


def test_addresses_of_a_watched_connection_keep_apart() -> None:
    known = Pseudonyms(())
    watched = {"program": "db", "process": 7, "local": "10.1.2.3:40000", "remote": "10.1.2.4:5432"}
    cells = [
        anonymous_cell({"id": f"c{number}", "watched": watched | {"local": local}}, known)
        for number, local in (
            (1, "10.1.2.3:40000"),
            (2, "10.1.2.9:40001"),
        )
    ]
    first, second = (cell["watched"] for cell in cells)
    assert first["remote"] == second["remote"]
    assert len({first["local"], second["local"], first["remote"]}) == 3
    assert first["remote"].endswith(":5432")


def test_addresses_go_on_in_the_next_range_for_documentation() -> None:
    """RFC 5737 has three networks, each with 254 addresses of hosts; then come those of RFC 1112, class E."""
    known = Pseudonyms(())
    given = [known.host(f"10.0.{number // 250}.{number % 250 + 1}") for number in range(764)]
    expected = [f"{network}.{host}" for network in ("192.0.2", "198.51.100", "203.0.113") for host in range(1, 255)]
    assert given == [*expected, "240.0.0.1", "240.0.0.2"]


def test_network_cards_are_numbered_over_two_bytes() -> None:
    known = Pseudonyms(())
    known._counts["MAC address"] = 254
    given = known.text("52:54:00:12:ab:cd and 52:54:00:12:ab:ce")
    assert given == "02:00:00:00:00:ff and 02:00:00:00:01:00"


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


@pytest.mark.parametrize("name", ["../../../intervals.near.parquet", "../../../flows.sh", "link/flows.near.parquet"])
def test_a_result_never_has_the_copy_write_outside_of_its_folder(
    here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    unpack("model", here)
    (pack,) = (here / "results/model/trials").glob("pack-*")
    (pack / "link").symlink_to("..")
    (here / "results/sent").mkdir()
    (here / "results/model").rename(here / "results/sent/model")
    pack = here / "results/sent/model/trials" / pack.name
    planted = pack / name
    planted.write_bytes((pack / "flows.near.parquet").read_bytes())
    rewrite(pack / "pack.json", lambda sizes: sizes["tables"].update({name: planted.stat().st_size}))
    before = set(here.rglob("*"))
    assert main(["export", "results/sent/model", "--anonymize", "--out", "results/copy"]) == 1
    said = capsys.readouterr().err
    assert f"trial {pack.name} is damaged ({name} is not whole)" in said
    assert set(here.rglob("*")) == before


@pytest.mark.parametrize("name", ["../flows.near.parquet", "flows.sh", "/flows.near.parquet"])
def test_no_table_is_copied_by_another_name_than_that_of_a_table(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="the record has no such table"):
        copy_table(name, tmp_path, tmp_path / "copy", Pseudonyms(frozenset()))


def test_without_anonymize_it_names_the_option(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unpack("stream-user", here)
    assert main(["export", "results/stream-user"]) == 2
    assert "give one of --csv, --json, --parquet, --anonymize" in capsys.readouterr().err
