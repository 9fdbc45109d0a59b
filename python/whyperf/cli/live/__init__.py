"""What a running command shows: progress, interval lines, and how Ctrl-C ends it."""
