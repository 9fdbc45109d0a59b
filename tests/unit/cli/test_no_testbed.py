"""Settings of the emulated path where no testbed can be made."""

import pytest

from whyperf.cli import main
from whyperf.cli.workflows import measure
from whyperf.run import Kind


def test_settings_of_the_path_without_privilege_name_the_options_and_the_privilege(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "making one needs CAP_SYS_ADMIN; run as root"
    monkeypatch.setattr(measure, "allowed_kind", lambda _: (Kind.LOOPBACK, reason))
    assert main(["run", "--rtt", "10ms", "--set", "mtu_bytes=9000"]) == 2
    text = capsys.readouterr().err
    assert text == f"whyperf: --rtt and --set mtu_bytes need the embedded testbed: {reason}, or leave them out\n"
