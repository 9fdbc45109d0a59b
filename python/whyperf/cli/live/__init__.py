"""The display of a running command: progress, interval lines, and how Ctrl-C ends it."""
