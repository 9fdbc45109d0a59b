"""What `whyperf doctor` and `whyperf watch` say about stage times."""

import pytest

from whyperf.cli.app import main
from whyperf.cli.exits import USAGE
from whyperf.cli.output.host import stage_sentence
from whyperf.wire import Hook


def hook(name: str, gives: str, *, can: bool = True, reason: str = "the kernel took the program") -> Hook:
    return {"name": name, "can": can, "reason": reason, "gives": gives}


QUEUE, READY = hook("net:net_dev_queue", "stage tcp_out"), hook("sock:sk_data_ready", "stage wakeup, apart from tcp_in")


def test_doctor_says_which_stages_a_kernel_can_time() -> None:
    assert stage_sentence([QUEUE, READY]).endswith("this kernel can time every stage.")
    lacking: Hook = {**READY, "can": False, "reason": "this kernel has no such tracepoint"}
    assert stage_sentence([QUEUE, lacking]).endswith("all but stage wakeup, apart from tcp_in (no sock:sk_data_ready).")
    refused: list[Hook] = [{**entry, "can": False, "reason": "loading is not allowed"} for entry in (QUEUE, READY)]
    assert stage_sentence(refused).endswith("none, because loading is not allowed.")


def test_watch_says_what_times_stages_instead(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", ":5201", "--evidence", "stages"]) == USAGE
    said = capsys.readouterr().err
    assert "whyperf watch cannot time stages" in said
    assert "whyperf run --evidence stages" in said
