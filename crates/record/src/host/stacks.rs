//! Rows of the sampled stacks: tables `stacks` and `functions`.

use probe::stacks::Profile;
use schema::table::{FunctionRow, StackRow};

use crate::table::{Columns, Rows};

/// Both tables.
pub fn tables(host: &str, profile: &Profile) -> [Columns; 2] {
    let mut stacks = Rows::<StackRow<'_>>::new();
    for stack in &profile.stacks {
        let functions: Vec<_> = stack.functions.iter().map(u32::to_string).collect();
        stacks.push(StackRow {
            host,
            group: stack.group,
            program: &stack.program,
            context: stack.context,
            vector: stack.vector,
            functions: &functions.join(" "),
            samples_count: stack.samples_count,
        });
    }
    let mut functions = Rows::<FunctionRow<'_>>::new();
    for (function, known) in (0..).zip(&profile.functions) {
        functions.push(FunctionRow {
            host,
            function,
            name: &known.name,
            object: &known.object,
            kind: known.kind,
            inlined: known.is_inlined,
        });
    }
    [stacks.into_columns(), functions.into_columns()]
}
