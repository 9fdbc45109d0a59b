"""Pins of the locks that a known advisory excludes are found without a network."""

from scripts.advisories import PIN, too_old

LOCK = """\
pillow==12.2.0 \\
    --hash=sha256:00
    # via whyperf
polars==2.1.0 ; python_version >= "3.11" \\
    --hash=sha256:00
"""


def test_a_pin_below_a_constraint_is_reported_with_its_advisory() -> None:
    pins = PIN.findall(LOCK)
    assert [pin.strip() for pin in pins] == ["pillow==12.2.0", 'polars==2.1.0 ; python_version >= "3.11"']
    assert list(too_old(pins, ["pillow>=12.3.0  # PYSEC-2026-2253: images", "tornado>=6.5.8  # x"])) == [
        "pillow 12.2.0: PYSEC-2026-2253: images; use >=12.3.0"
    ]
    assert list(too_old(pins, ["# a comment", "", "pillow>=12.2.0  # x", "polars!=2.0.9  # x"])) == []
