"""Differences before the measurement: hosts, kernel, plan, settings of all cells, and factors that differ by pair."""

from dataclasses import dataclass

from whyperf.analyze.text import count, factor_name, level_with_unit
from whyperf.compare.comparison import Comparison
from whyperf.report.compare.texts import NONE

_KINDS = {"host": "Hosts", "plan": "Plan", "setting": "Settings"}
MAX_LEVELS = 3
"""Changes of a factor that are listed, where it changes differently in several pairs."""


@dataclass(frozen=True)
class ConditionGroup:
    """Conditions of a kind: a row each, with the value of each result."""

    title: str
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class ConditionsView:
    """The section. `summary` is a sentence; `factors` a row for each factor that differs by pair: name, how, where."""

    summary: str
    labels: tuple[str, ...]
    groups: tuple[ConditionGroup, ...]
    factors: tuple[tuple[str, str, str], ...]


def conditions_of(comparison: Comparison) -> ConditionsView:
    """The section."""
    groups = tuple(
        ConditionGroup(
            title,
            tuple(
                (
                    factor_name(entry.name) if kind == "setting" else entry.name,
                    tuple(NONE if value is None else value for value in entry.values),
                )
                for entry in comparison.conditions
                if entry.kind == kind
            ),
        )
        for kind, title in _KINDS.items()
        if any(entry.kind == kind for entry in comparison.conditions)
    )
    factors = _factors(comparison)
    return ConditionsView(_summary(comparison, groups), tuple(r.label for r in comparison.results), groups, factors)


def _summary(comparison: Comparison, groups: tuple[ConditionGroup, ...]) -> str:
    if len({result.folder for result in comparison.results}) == 1:
        if len({(host.host, host.hostname) for host in comparison.hosts}) > len(
            {host.host for host in comparison.hosts}
        ):
            return "The cells were simulated in one result: the plan is the same, and their hosts differ."
        return "The cells were measured in one result: hosts, kernel and plan are the same."
    same = [title.lower() for kind, title in _KINDS.items() if title not in {group.title for group in groups}]
    if not groups:
        return "Hosts, kernel, plan and the settings of all cells are the same."
    return (
        f"Only what differs is listed. No difference in: {', '.join(same)}." if same else "Only what differs is listed."
    )


def _factors(comparison: Comparison) -> tuple[tuple[str, str, str], ...]:
    """Factors that differ in pairs, without settings that are listed for whole results."""
    given = given_settings(comparison)
    changes: dict[str, dict[str, int]] = {}
    for pair in comparison.pairs:
        for factor, levels in pair.differ.items():
            if factor not in given:
                a, b = (NONE if level is None else level_with_unit(factor, level) for level in levels)
                found = changes.setdefault(factor, {})
                found[f"{a} → {b}"] = found.get(f"{a} → {b}", 0) + 1
    rows = []
    for factor, found in changes.items():
        texts = list(found)[:MAX_LEVELS]
        more = f", {len(found) - len(texts):,} more" if len(found) > len(texts) else ""
        where = f"{sum(found.values()):,} of {count(len(comparison.pairs), 'pair')}"
        rows.append((factor_name(factor), "; ".join(texts) + more, where))
    return tuple(rows)


def given_settings(comparison: Comparison) -> frozenset[str]:
    """Factors that are listed as settings of whole results. With a third result, pairs list them, too."""
    if len(comparison.results) > 2:
        return frozenset()
    return frozenset(entry.name for entry in comparison.conditions if entry.kind == "setting")
