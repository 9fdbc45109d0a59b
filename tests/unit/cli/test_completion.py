"""What the shell offers when Tab is pressed."""

from pathlib import Path

from whyperf.cli.commands import completion


def test_programs_that_run_are_offered_by_their_names_and_kernel_threads_are_not() -> None:
    own = Path("/proc/self/comm").read_text().strip()
    assert own in completion.programs(own[:3])
    assert completion.programs("no-such-pro") == []
    assert not any(name.startswith(("ksoftirqd/", "kthreadd")) for name in completion.programs("k"))
