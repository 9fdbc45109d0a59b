"""Which rules are asked about connections of other programs, by the sides that were watched."""

from collections.abc import Sequence
from dataclasses import replace

from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.rules import application, buffers, costs, cpu, host_limits, losses, packets, path, transfers
from whyperf.explain.rules.finding import MIN_CERTAINTY, Finding, Rule
from whyperf.explain.rules.watched import arrivals, exchanges, peer, programs, sent, windows
from whyperf.explain.trial_facts import Facts

INSTEAD: dict[Rule, Rule | None] = {
    buffers.send_buffer: programs.full_send_buffer,
    application.slow_writer: programs.slow_writer,
    # Nobody counts transactions of another program: `exchanges` takes their place.
    application.think_time: None,
    application.round_trip: None,
    cpu.computing_sender: programs.computing_sender,
    cpu.computing_receiver: programs.computing_receiver,
    cpu.other_load: programs.other_load,
    buffers.nagle_delayed_ack: programs.nagle_delayed_ack,
    buffers.delayed_ack: programs.delayed_ack,
    losses.small_queue: programs.small_queue,
    transfers.slow_start: programs.slow_start,
    path.bottleneck: programs.bottleneck,
    path.shared_bottleneck: programs.shared_bottleneck,
    path.policer: programs.policer,
    cpu.many_connections: programs.many_connections,
}
"""Rules that assume what is known of the own load only, and those that are asked instead."""
UNHEEDED: dict[Rule, Rule | None] = {
    losses.small_queue: programs.unheeded_losses,
    losses.random_loss: None,
    losses.burst_loss: None,
    losses.possible_policer: None,
}
"""The same where the congestion control does not heed losses."""
OF_WATCHED: tuple[Rule, ...] = (
    windows.small_window,
    windows.unread_window,
    windows.reader_behind,
    windows.late_reads,
    exchanges.own_delay,
    exchanges.peer_delay,
    arrivals.small_segments,
    programs.busy_receiver,
)
OF_SENDER: tuple[Rule, ...] = (sent.nagle, sent.overtaken, sent.in_flight)
"""Rules about a sender, by samples of its socket."""
OF_RECEIVER: tuple[Rule, ...] = (
    *OF_WATCHED,
    windows.own_buffer,
    windows.own_scaling,
    arrivals.path_full,
    arrivals.path_loss,
    arrivals.held_acks,
    exchanges.counted_nagle,
    peer.idle_peer,
    peer.waiting,
    programs.computing_receiver,
    application.tiny_reads,
    application.huge_reads,
    packets.costly_packets,
    cpu.receive_offload_off,
    programs.many_connections,
    costs.packet_filters,
    costs.other_bpf,
    costs.call_checks,
    costs.software_checksums,
    costs.memory_pressure,
    costs.lock_contention,
    costs.mitigations,
    host_limits.cpu_quota,
    host_limits.short_load,
)
"""Rules about a receiver whose sender was not watched: no others can be asked, for they need the sender's sockets."""


def rules_for(facts: Facts, rules: Sequence[Rule]) -> list[Rule]:
    """The rules that are asked: all `rules` of the own load; of other programs those that the watched sides allow."""
    if not facts.is_watched:
        return list(rules)
    if facts.watched_sides == "receiver":
        return list(OF_RECEIVER)
    instead = INSTEAD if programs.heeds_losses(facts) else INSTEAD | UNHEEDED
    kept = [instead.get(rule, rule) for rule in rules]
    return [*(rule for rule in kept if rule is not None), *OF_WATCHED, *OF_SENDER]


PATH = LOSS_KINDS | {Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.POLICER, Cause.PATH_LOSS}


def without_path(found: Sequence[Finding], facts: Facts) -> list[Finding]:
    """The findings; where the sender alone sees that a reader closes the window, without those about the path.

    A reader that is behind holds back ACKs, too, and what it lets go at once overruns queues. The causes are
    candidates.
    """
    reader = next((finding for finding in found if finding.variant == windows.READER), None)
    if reader is None or facts.watched_sides != "sender":
        return list(found)
    of_path = [finding for finding in found if finding.cause in PATH]
    causes = [*reader.values["causes"], *(str(finding.cause) for finding in of_path)]  # type: ignore[misc]
    named = replace(reader, values={**reader.values, "causes": list(dict.fromkeys(causes))})
    return [named if finding is reader else finding for finding in found if finding.cause not in PATH]


def once_each(found: Sequence[Finding]) -> list[Finding]:
    """The findings, of each cause the strongest only; of what is left open one for each sentence. What data in flight
    waits for is open only where no cause is certain."""
    if any(finding.certainty >= MIN_CERTAINTY for finding in found):
        found = [finding for finding in found if finding.variant != sent.IN_FLIGHT]
    best: dict[tuple[Cause, str], Finding] = {}
    for finding in found:
        key = (finding.cause, finding.variant if finding.cause is Cause.NOT_KNOWN else "")
        if key not in best or finding.strength > best[key].strength:
            best[key] = finding
    return [finding for finding in found if any(finding is kept for kept in best.values())]
