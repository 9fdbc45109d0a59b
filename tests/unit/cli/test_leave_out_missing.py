"""What is left of a profile where hosts lack some of its transports."""

from typing import Any

import pytest

from whyperf.cli.inputs import unavailable
from whyperf.profile import ProfileError, parse
from whyperf.wire import Offer

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


QUIC = """
about = "A question."
[[sweep]]
name = "one"
[sweep.factors]
transport = ["quic"]
congestion_control = ["cubic", "newreno", "htcp"]
[[sweep]]
name = "both"
[sweep.factors]
transport = ["tcp", "quic"]
congestion_control = ["cubic", "newreno", "htcp"]
[[sweep]]
name = "tcp"
[sweep.factors]
congestion_control = ["cubic", "newreno", "htcp"]
"""


def offer(name: str, state: str = "loaded", reason: str = "", kind: str = "congestion_control") -> Any:
    return {
        "kind": kind,
        "name": name,
        "registered_as": f"our_{name}",
        "state": state,
        "reason": reason,
    }


def hosts(monkeypatch: pytest.MonkeyPatch, *offers: list[Offer]) -> list[str | None]:
    """Hosts with these offers."""
    names: list[str | None] = [None, *(f"host{number}" for number in range(1, len(offers)))]
    by_name = dict(zip(names, offers, strict=True))
    monkeypatch.setattr(unavailable, "list_offers", by_name.__getitem__)
    return names


def test_what_one_host_lacks_is_left_out_and_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    near = [offer("reno"), offer("fast", "loadable"), offer("bbr")]
    far = [offer("reno"), offer("fast", "refused", "the kernel has no BPF"), offer("bbr")]
    profile = parse(PROFILE, name="sample", where="sample.toml")
    left = unavailable.without_missing(profile, hosts(monkeypatch, near, far))
    assert left.sweeps[0].levels == {"congestion_control": ("reno", "bbr")}
    assert left.sweeps[1] == profile.sweeps[1]
    assert capsys.readouterr().err == "Left out: congestion_control fast: the kernel has no BPF\n"


def test_a_sweep_without_a_level_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = parse(PROFILE, name="sample", where="sample.toml")
    left = unavailable.without_missing(profile, hosts(monkeypatch, [offer("cubic")]))
    assert [sweep.name for sweep in left.sweeps] == ["other"]


def test_nothing_left_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    only = parse(PROFILE[: PROFILE.rindex("[[sweep]]")], name="sample", where="sample.toml")
    with pytest.raises(ProfileError, match="--leave-out-missing"):
        unavailable.without_missing(only, hosts(monkeypatch, []))


def test_quic_has_congestion_controls_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has no newreno, QUIC no htcp; where both carry, both must have it."""
    of_kernel = [offer("cubic"), offer("htcp"), *(offer(name, kind="transport") for name in ("tcp", "quic"))]
    of_quic = [offer(name, kind="quic_congestion_control") for name in ("cubic", "newreno")]
    profile = parse(QUIC, name="sample", where="sample.toml")
    for given, names in (
        (profile, ["cubic", "newreno"]),
        (profile.with_overrides({"transport": "tcp"}), ["cubic", "htcp"]),
    ):
        left = unavailable.without_missing(given, hosts(monkeypatch, [*of_kernel, *of_quic]))
        assert left.sweeps[0].levels["congestion_control"] == tuple(names)
    left = unavailable.without_missing(profile, hosts(monkeypatch, [*of_kernel, *of_quic]))
    assert [sweep.levels["congestion_control"] for sweep in left.sweeps[1:]] == [("cubic",), ("cubic", "htcp")]
