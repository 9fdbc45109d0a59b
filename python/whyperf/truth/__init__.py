"""Truth experiments: inject known causes and count how often the explanation finds them.

The catalog is data (`catalog.toml`). `design` makes a plan of it. `grade` compares the verdicts with the injected
causes. `figures` counts, and `page` prints the counts. The caller measures.
"""

from whyperf.truth.catalog import Catalog, load_catalog
from whyperf.truth.design import CellKind, Role, plan_truth, roles_of

__all__ = ["Catalog", "CellKind", "Role", "load_catalog", "plan_truth", "roles_of"]
