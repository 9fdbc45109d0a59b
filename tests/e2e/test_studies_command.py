"""`whyperf studies` as a user runs it: the list, an entry, runs that resume, the page, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf

COMPUTED = ("ad-cell-header", "ad-sonet", "ad-aal5")


def test_computed_entries_are_run_judged_and_kept(tmp_path: Path) -> None:
    ran = whyperf("studies", *COMPUTED, "--run", "--out", "runs", "--page", "studies.md", folder=tmp_path)
    assert ran.status == 0, ran.err
    assert "1 of 1 commands to run, about 1 s" in ran.err
    assert ran.out.count("(figure): same shape") == 3
    page = (tmp_path / "studies.md").read_text()
    assert "Same shape: 3 of 3 entries" in page
    assert "$ whyperf overhead atm-oc3" in page

    again = whyperf("studies", *COMPUTED, "--run", "--out", "runs", "--json", folder=tmp_path)
    assert (again.status, again.err) == (0, "")
    printed = json.loads(again.out)
    assert (printed["entries"], printed["same"]) == (3, 3)
    assert printed["runs"]["ad-atm"]["code"] == 0
    units = {entry["id"]: entry["units"] for study in printed["studies"] for entry in study["entries"]}
    assert units["ad-aal5"] == {"ours": "bytes", "padding": "bytes"}

    full = whyperf("studies", COMPUTED[0], "--out", "runs", folder=tmp_path)
    assert full.status == 0
    assert "holds: ours 5.00 to 5.00 (required: at least 5, at most 5)" in full.out


def test_the_list_needs_no_run_and_fits_80_columns(tmp_path: Path) -> None:
    listed = whyperf("studies", folder=tmp_path, environment={"COLUMNS": "80"})
    assert listed.status == 0
    assert "atm-throughput (table): not measured" in listed.out
    # A command has words that cannot be broken.
    lines = [line for line in listed.out.splitlines() if "whyperf" not in line and "=" not in line]
    assert max(map(len, lines)) <= 80


def test_a_command_that_fails_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "runs" / "documents").mkdir(parents=True)
    # The result's folder is taken by a file.
    (tmp_path / "runs" / "atm-stop-sparc2").write_text("")
    ran = whyperf("studies", "atm-stop-and-go", "ad-sonet", "--run", "--out", "runs", folder=tmp_path)
    assert ran.status == 3
    assert "Not measured: atm-stop-sparc2: " in ran.err
    assert "1 of 2 commands gave no result: atm-stop-sparc2" in ran.err
    assert "ad-sonet (figure): same shape" in ran.out
    assert "atm-stop-and-go (figure): not measured" in ran.out


@pytest.mark.slow
def test_what_another_command_measured_is_set_aside_and_measured_again(tmp_path: Path) -> None:
    result, documents = tmp_path / "runs" / "ad-two-adapters", tmp_path / "runs" / "documents"
    for made in (result, documents):
        made.mkdir(parents=True)
    (result / "plan.json").write_text("of another command")
    (documents / "ad-two-adapters.maker").write_text("another agent and command")
    done = whyperf("studies", "ad-duplex", "--run", "--out", "runs", folder=tmp_path, timeout_s=200)
    assert done.status == 0, done.err
    assert (tmp_path / "runs" / "replaced" / "ad-two-adapters" / "plan.json").read_text() == "of another command"
    assert list((result / "trials").iterdir())


def test_a_dry_run_prints_the_commands_and_the_duration(tmp_path: Path) -> None:
    planned = whyperf("studies", "adapters", "--run", "--dry-run", folder=tmp_path)
    assert planned.status == 0
    assert "whyperf overhead atm-oc3 --sizes 64,1024,9128,9129" in planned.out
    assert "commands to run, about" in planned.out
    assert not list(tmp_path.iterdir())
    printed = json.loads(whyperf("studies", "ad-sonet", "--dry-run", "--json", folder=tmp_path).out)
    assert printed == {
        "runs": [
            {
                "run": "ad-atm",
                "command": "whyperf overhead atm-oc3 --sizes 64,1024,9128,9129",
                "seconds": 1.0,
                "is_done": False,
            }
        ],
        "seconds": 1.0,
    }


def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments, sentence in (
        (("atm-peek",), "did you mean atm-peaks?"),
        (("nothing-like-it",), "`whyperf studies` lists what there is"),
        (("--out", "not-there"), "--out: not-there is no folder of `whyperf studies --run`"),
        (("--out", "file"), "--out: file is no folder of `whyperf studies --run`"),
        (("--run", "--out", "file", "ad-sonet"), "--out: file is no folder; name another one"),
        (("ad-sonet", "--page", "no/such/page.md"), "--page: no/such/page.md cannot be written"),
    ):
        refused = whyperf("studies", *arguments, folder=tmp_path)
        assert refused.status == 2
        assert sentence in refused.sentence
