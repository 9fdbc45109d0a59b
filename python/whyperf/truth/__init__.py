"""Truth experiments: causes put there on purpose, and how often the explanation finds them.

The catalog is data (`catalog.toml`); `design` makes a plan of it, `grade` compares what was explained with what was put
there, `figures` counts and `page` tells it. Measuring is the caller's.
"""

from whyperf.truth.catalog import Catalog, load_catalog
from whyperf.truth.design import Part, Role, plan_truth, roles_of

__all__ = ["Catalog", "Part", "Role", "load_catalog", "plan_truth", "roles_of"]
