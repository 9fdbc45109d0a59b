"""The commands: their options and their help, one module each."""
