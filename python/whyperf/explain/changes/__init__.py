"""Changes that undo a cause: factors of whyperf, commands, and steps for programs of others."""
