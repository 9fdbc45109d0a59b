//! Names functions, as the agent's child does.

fn main() -> std::io::Result<()> {
    probe::stacks::resolve_stdio()
}
