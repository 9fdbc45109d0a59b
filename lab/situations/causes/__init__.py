"""The causes that can be injected, with their doses: each entry is a cause that a removal can be measured of.

A dose is drawn so that the cause often limits, and sometimes does not: most are a part of what the path carries, from
4 % to 80 % of it. Whether it limits is measured, not assumed.
"""

from lab.situations.causes import endpoints, network, processors, setup
from lab.situations.injecting import registered

CAUSES = tuple(cause for module in (endpoints, network, processors, setup) for cause in registered(module.__name__))
"""All of them, in an order that a seed depends on."""
