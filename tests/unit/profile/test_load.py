"""Profiles as people write them, right and wrong."""

from pathlib import Path

import pytest

from whyperf.plan import MODEL, build
from whyperf.profile import ProfileError, find, load, parse, shipped_names

GOOD = """
about = "A question."
[fixed]
mtu_bytes = 9188
read_size_bytes = "=write_size_bytes"
[design]
trials = 3
[[sweep]]
name = "throughput"
[sweep.fixed]
transfer_bytes = 1048576
[sweep.factors]
window_bytes = [4096, 8192]
write_size_bytes = { from = 512, to = 1024, step = 512 }
"""


def test_a_byte_order_mark_is_no_part_of_the_profile(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD, encoding="utf-8-sig")
    assert load(tmp_path / "good.toml").text == GOOD


def test_a_good_profile_is_read_as_written() -> None:
    profile = parse(GOOD, name="good", where="good.toml")
    assert profile.seed == 1995
    assert profile.design.trials == 3
    assert profile.sweeps[0].levels == {"window_bytes": (4096, 8192), "write_size_bytes": (512, 1024)}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('about = "A question."', "about = 5", "x.toml: about: "),
        ("[design]", "[desing]", "x.toml: desing: there is no such key; did you mean design?"),
        ("trials = 3", "trails = 3", "x.toml: design.trails: there is no such key; did you mean trials?"),
        ("trials = 3", "trials = 0", "x.toml: design.trials: 0 does not fit"),
        ("trials = 3", "trials = 3\ntrials_max = 5", "x.toml: design: give trials, or trials_min"),
        ("trials = 3", "trials_min = 5\ntrials_max = 3\ninterval_width = 0.1", "x.toml: design: trials_max is below"),
        ("trials = 3", "trials = '3'", "x.toml: design.trials: '3' does not fit"),
        ("mtu_bytes = 9188", "mtu = 9188", "x.toml: fixed.mtu: there is no factor of this name; did you mean"),
        ("mtu_bytes = 9188", "mtu_bytes = [1500, 9188]", "x.toml: fixed.mtu_bytes: one level belongs here"),
        ("mtu_bytes = 9188", "mtu_bytes = 12", "x.toml: fixed.mtu_bytes: 12 is not a level; it takes"),
        ("[4096, 8192]", "[4096, 4096]", "x.toml: sweep.throughput.factors.window_bytes: level 4096 is there twice"),
        ("[4096, 8192]", "[]", "x.toml: sweep.throughput.factors.window_bytes: the list of levels is empty"),
        ('"=write_size_bytes"', '"=write_size"', 'x.toml: fixed.read_size_bytes: "=write_size" names no factor; did'),
        ('name = "throughput"', 'name = "Through put"', "x.toml: sweep.Through put.name: a name has small letters"),
        ("transfer_bytes = 1048576", "window_bytes = 5", "x.toml: sweep.throughput.factors.window_bytes: the sweep"),
        ("[[sweep]]", "[sweep.a]", "x.toml: sweep: sweeps are a list; write [[sweep]] with name"),
        ("trials = 3", "trials = ", "x.toml: this is not valid TOML: Invalid value (at line 7"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_file_key_and_remedy(before: str, after: str, says: str) -> None:
    assert GOOD.count(before) == 1
    with pytest.raises(ProfileError) as caught:
        parse(GOOD.replace(before, after), name="x", where="x.toml")
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("mtu_bytes = 9188", "mtu_bytes = 9188\nduration_s = 5", "duration_s: transfer_bytes ends the trial by bytes"),
        ("mtu_bytes = 9188", "gso = false", "tso: segmentation offload by the device cannot be on with gso off"),
        ("mtu_bytes = 9188", "mtu_bytes = 1000\nip_version = 6", "mtu_bytes: IP version 6 needs an MTU of 1280"),
        ("transfer_bytes = 1048576", "duration_s = 80\ndeadline_s = 60", "deadline_s: 60 s end before"),
        ("transfer_bytes = 1048576", "write_size_bytes = 8192", "write_size_bytes: the sweep fixes"),
    ],
)
def test_factors_that_contradict_each_other_are_refused(before: str, after: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        build(parse(GOOD.replace(before, after), name="x", where="x.toml"))
    assert says in str(caught.value)
    assert str(caught.value).startswith("x.toml: sweep.throughput")


def test_all_mistakes_of_a_file_are_said_at_once() -> None:
    wrong = GOOD.replace("trials = 3", "trails = 3").replace("mtu_bytes = 9188", 'mtu = 9188\nduration_s = "5 parsecs"')
    wrong = wrong.replace("[4096, 8192]", "[0, 8192]") + "exclude = [{ no_delay = 7 }]\n"
    with pytest.raises(ProfileError) as caught:
        parse(wrong.replace("exclude", "[[sweep]]\nname = 'b'\nexclude"), name="x", where="x.toml")
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "design.trails",
        "fixed.mtu",
        "fixed.duration_s",
        "sweep.throughput.factors.window_bytes",
        "sweep.b.exclude.no_delay",
    ]
    assert all(line.startswith("x.toml: ") for line in lines)
    assert "x.toml: design.trails: there is no such key; did you mean trials?" in lines


def test_levels_are_checked_in_a_file_whose_tables_are_no_tables() -> None:
    with pytest.raises(ProfileError) as caught:
        parse("fixed = 3\nsweep = [7, { factors = { window_bytes = 0 } }]\n", name="x", where="x.toml")
    assert str(caught.value).splitlines() == [
        "x.toml: fixed: 3 does not fit; a table belongs here",
        "x.toml: sweep.1: 7 does not fit; a table belongs here",
        "x.toml: sweep.2.factors.window_bytes: 0 is not a level; it takes a whole number from 1 to 1073741824 "
        "or default",
    ]


def test_what_a_profile_carries_is_checked_with_the_rest() -> None:
    text = """
        [fixed]
        mtu = 9000
        [workload]
        metrc = "goodput"
        defaults = { window_bytes = "9Q", bogus = 1 }
        [[workload.group]]
        usrs = 3
        [schedule]
        name = "own"
        flows = 1
    """
    with pytest.raises(ProfileError) as caught:
        parse(text, name="x", where="x.toml")
    keys = [line.split(": ")[1] for line in str(caught.value).splitlines()]
    assert keys == ["fixed.mtu", "workload.group.1.usrs", "workload.metrc", "schedule.flows"]


def test_a_sweep_without_a_name_is_main() -> None:
    profile = parse('[[sweep]]\n[sweep.factors]\nwindow_bytes = ["64K", "1M"]\n', name="x", where="x.toml")
    assert [sweep.name for sweep in profile.sweeps] == ["main"]
    twice = "[[sweep]]\n[sweep.fixed]\nwindow_bytes = 65536\n" * 2
    with pytest.raises(
        ProfileError, match=r"sweep\.main: two sweeps have this name; rename one \(a sweep without a name"
    ):
        parse(twice, name="x", where="x.toml")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("loss", "path_loss or path_loss_back"),
        ("window", "window_bytes"),
        ("path_loss_ratio", "path_loss"),
        ("mtu", "mtu_bytes"),
    ],
)
def test_a_part_of_a_name_is_understood(name: str, meant: str) -> None:
    with pytest.raises(ProfileError, match=rf"did you mean {meant}\?"):
        parse(f"[fixed]\n{name} = 1\n", name="x", where="x.toml")


def test_a_profile_needs_no_text_about_it() -> None:
    profile = parse(GOOD.replace('about = "A question."', ""), name="good", where="good.toml")
    assert profile.about == ""
    assert build(profile).trials_count == build(parse(GOOD, name="good", where="good.toml")).trials_count


def test_loopback_has_no_mtu() -> None:
    with pytest.raises(ProfileError, match=r"x.toml: fixed.mtu_bytes: .*loopback"):
        parse(GOOD.replace("[fixed]", '[testbed]\nkind = "loopback"\n[fixed]'), name="x", where="x.toml")


def test_two_sweeps_of_one_name_are_refused() -> None:
    with pytest.raises(ProfileError, match="two sweeps have this name"):
        parse(GOOD + '\n[[sweep]]\nname = "throughput"\n[sweep.fixed]\nno_delay = true\n', name="x", where="x.toml")


def test_an_empty_sweep_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"sweep.cpu: the sweep is empty"):
        parse(GOOD + '\n[[sweep]]\nname = "cpu"\n', name="x", where="x.toml")


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no such file"):
        find(str(tmp_path / "none.toml"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="not a text file"):
        load(binary)


def test_a_misspelled_shipped_profile_is_recognized() -> None:
    with pytest.raises(ProfileError, match="did you mean window-sweep"):
        find("window-swep")


#: Profiles that ask how something depends on the path, or on settings that only the testbed has.
OF_THE_TESTBED = {
    *("wan-transports", "rules-cost", "stack-overheads", "control-fairness", "ecn-bbr", "offload-cost"),
    *("reno-recovery", "small-queue-fast", "copy-steps-live", "packet-steering"),
}


def test_all_shipped_profiles_can_be_planned_on_every_target() -> None:
    assert {"quick", "window-sweep", "read-size", "stop-and-go", "socket-buffer", "demo"} <= set(shipped_names())
    for name in shipped_names():
        if find(name).is_of_model:
            assert build(find(name), target=MODEL).trials_count > 0
            continue
        assert build(find(name)).trials_count > 0
        for target in ("loopback", "host7"):
            if name in OF_THE_TESTBED:
                with pytest.raises(ProfileError, match=r"has no such setting|cannot vary it|cannot be emulated"):
                    build(find(name), target=target)
            else:
                assert build(find(name), target=target).trials_count > 0


def test_window_sweep_is_the_first_study() -> None:
    plan = build(find("window-sweep"))
    throughput = [cell for cell in plan.cells if cell.sweep == "throughput"]
    assert len(throughput) == 7 * 64
    assert {cell.factors["window_bytes"] for cell in throughput} == {4096, 8192, 16384, 24576, 32768, 40960, 52428}
    assert all(cell.factors["read_size_bytes"] == cell.factors["write_size_bytes"] for cell in plan.cells)
    assert all(cell.factors["transfer_bytes"] == 16 * 2**20 for cell in throughput)
    assert len(plan.blocks) == 25
    assert len(plan.blocks[0]) == 7 * 64 + 7
    assert len(plan.blocks[5]) == 7 * 64
