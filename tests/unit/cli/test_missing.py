"""What is left of a profile where hosts lack some of its transports."""

import pytest

from whyperf.cli import missing
from whyperf.profile import ProfileError, parse
from whyperf.run.offers import Offer

PROFILE = """
about = "A question."
[[sweep]]
name = "tcp"
[sweep.factors]
congestion_control = ["reno", "fast", "bbr"]
[[sweep]]
name = "other"
[sweep.fixed]
congestion_control = "reno"
[sweep.factors]
write_size_bytes = [1, 2]
"""


def offer(name: str, state: str = "loaded", reason: str = "") -> Offer:
    return {
        "kind": "congestion_control",
        "name": name,
        "registered_as": f"our_{name}",
        "state": state,
        "reason": reason,
    }


def hosts(monkeypatch: pytest.MonkeyPatch, *offers: list[Offer]) -> list[str | None]:
    """Hosts with these offers."""
    names: list[str | None] = [None, *(f"host{number}" for number in range(1, len(offers)))]
    by_name = dict(zip(names, offers, strict=True))
    monkeypatch.setattr(missing, "list_offers", by_name.__getitem__)
    return names


def test_what_one_host_lacks_is_left_out_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    near = [offer("reno"), offer("fast", "loadable"), offer("bbr")]
    far = [offer("reno"), offer("fast", "refused", "the kernel has no BPF"), offer("bbr")]
    profile = parse(PROFILE, name="sample", where="sample.toml")
    left = missing.without_missing(profile, hosts(monkeypatch, near, far))
    assert left.sweeps[0].levels == {"congestion_control": ("reno", "bbr")}
    assert left.sweeps[1] == profile.sweeps[1]
    assert capsys.readouterr().err == "Left out: congestion_control fast: the kernel has no BPF\n"


def test_a_sweep_without_a_level_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = parse(PROFILE, name="sample", where="sample.toml")
    left = missing.without_missing(profile, hosts(monkeypatch, [offer("cubic")]))
    assert [sweep.name for sweep in left.sweeps] == ["other"]


def test_nothing_left_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    only = parse(PROFILE[: PROFILE.rindex("[[sweep]]")], name="sample", where="sample.toml")
    with pytest.raises(ProfileError, match="--leave-out-missing"):
        missing.without_missing(only, hosts(monkeypatch, []))


def test_a_level_may_be_named_as_the_kernel_does() -> None:
    assert missing.lacking("congestion_control", "our_fast", [[offer("fast")]]) is None
    assert missing.lacking("congestion_control", "fast", [[offer("reno")]]) == "the host does not have it"
