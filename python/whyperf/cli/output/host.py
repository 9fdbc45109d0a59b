"""Prints what a host provides: its abilities, its hooks, its congestion controls and transports."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from whyperf.cli.output.console import Console, print_whole, result_console
from whyperf.wire import Hook, HostFacts, Offer

_KINDS = {
    "congestion_control": "Congestion control",
    "quic_congestion_control": "Of QUIC's own",
    "transport": "Transport",
}


def print_facts(facts: HostFacts) -> None:
    """Prints what a host has and allows, as `whyperf doctor` does."""
    console = Console(highlight=False, markup=False)
    cpus = len(facts["cpus"])
    console.print(f"{facts['hostname']}: {facts['distribution']}, Linux {facts['kernel']}, {facts['machine']}")
    console.print(
        f"{cpus} CPUs ({facts['cpu_model']}), {facts['memory_bytes'] / 2**30:.0f} GiB, agent {facts['agent_version']}"
    )
    console.print(f"Congestion controls: {', '.join(facts['congestion_controls'])}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Ability", "", "Why", "Lost without it"):
        table.add_column(heading)
    for ability in facts["abilities"]:
        state = "yes" if ability["can"] else "no"
        table.add_row(
            ability["name"].replace("_", " "),
            state,
            ability["reason"],
            "" if ability["can"] else ability["lost_without"],
        )
    console.print(table)
    if facts["hooks"]:
        console.print(_hooks("Hook of the evidence", facts["hooks"]))
    # An agent of an older version has none.
    stage_hooks = facts.get("stage_hooks") or []
    if stage_hooks:
        console.print(_hooks("Hook of stage times", stage_hooks))
        console.print(stage_sentence(stage_hooks))


def stage_sentence(hooks: Sequence[Hook]) -> str:
    """Which stages `--evidence stages` can time on this kernel."""
    missing = [hook for hook in hooks if not hook["can"]]
    if not missing:
        return "Stage times (--evidence stages): this kernel can time every stage."
    if len(missing) == len(hooks):
        return f"Stage times (--evidence stages): none, because {missing[0]['reason']}."
    listed = "; ".join(f"{hook['gives']} (no {hook['name']})" for hook in missing)
    return f"Stage times (--evidence stages): all but {listed}."


def _hooks(title: str, hooks: list[Hook]) -> Table:
    """Where evidence is taken in the kernel, and whether it can be."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in (title, "", "Why", "Gives"):
        table.add_column(heading)
    for hook in hooks:
        table.add_row(hook["name"], "yes" if hook["can"] else "no", hook["reason"], hook["gives"])
    return table


def print_offers(offers: Sequence[Offer]) -> None:
    """The congestion controls and transports of a host, one table for each kind."""
    console = result_console()
    for kind, heading in _KINDS.items():
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in (heading, "Known as", "Source", "State", "Why"):
            table.add_column(name, overflow="fold")
        for offer in offers:
            if offer["kind"] == kind:
                source = offer["source"].replace("_", " ")
                table.add_row(offer["name"], offer["registered_as"], source, offer["state"], offer["reason"])
        print_whole(console, table)
