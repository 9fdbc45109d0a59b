"""Charts of a report: what goes on which axis, how it is drawn, and what a reader can choose."""
