"""Truth experiments: inject known causes and count how often the explanation finds them.

The catalogs are data in `catalogs/`: `catalog.toml` has single causes in doses, `field.toml` situations that users meet
(`situation`). `design` makes a plan of one. `grade` compares the verdicts with the injected causes, `levels` does so at
every level of evidence. `figures` counts, and `page` prints the counts. The caller measures.
"""

from lab.truth.catalog import FILES, Catalog, load_catalog
from lab.truth.design import CellKind, Role, plan_truth, roles_of

__all__ = ["FILES", "Catalog", "CellKind", "Role", "load_catalog", "plan_truth", "roles_of"]
