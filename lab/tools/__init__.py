"""Tool against tool: packaged tools and whyperf's own load in turn on one testbed, and why their figures differ."""
