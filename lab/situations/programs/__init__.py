"""Programs of others in drawn situations: which, with what injected, and how they are run and watched."""
