"""Causes for which the same observations speak: what the fit takes to be alike as long as nothing shows otherwise."""

from whyperf.explain.causes import ANOTHER, Cause

_CAUSES = {
    "window": "receive_buffer send_buffer window_scaling write_window_mismatch memory_limit",
    "application": "slow_writer slow_reader think_time round_trip nagle_delayed_ack delayed_ack connection_setup "
    "asked_rate pacing_rate slow_start pause",
    "link": "bottleneck shared_bottleneck local_queue",
    "loss": "random_loss burst_loss path_loss policer small_queue reordering receiver_loss",
    "acks": "ack_path ack_thinning",
}
_FAMILY_OF = {str(Cause(cause)): family for family, causes in _CAUSES.items() for cause in causes.split()}
CPU = "cpu"
FAMILIES = (*_CAUSES, CPU, ANOTHER)


def family_of(candidate: str) -> str:
    """The family of a candidate; what is in no other is of the CPUs."""
    return ANOTHER if candidate == ANOTHER else _FAMILY_OF.get(candidate, CPU)
