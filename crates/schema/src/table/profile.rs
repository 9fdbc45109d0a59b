//! Tables of the sampled stacks (evidence level `profile`).

use super::cell::{table, word_enum};
use super::{HOST, Text, Vector};

word_enum! {
    /// Whose thread a sample interrupted.
    ThreadGroup {
        /// A thread of the load, or of a watched program.
        Load = "load",
        /// Another thread of the agent that measures: its sampling and its log.
        Agent = "agent",
        /// A thread of the kernel, such as ksoftirqd.
        Kernel = "kernel",
        /// None: the CPU was idle, or an interrupt came on top of that.
        Idle = "idle",
        /// A thread of another program.
        Other = "other",
    }
}

word_enum! {
    /// The CPU's activity, and for whom, when a sample was taken.
    StackContext {
        /// The thread's own work, in the program or in a system call.
        Process = "process",
        /// A softirq, on top of a thread or in ksoftirqd.
        Softirq = "softirq",
        /// A hardware interrupt.
        Interrupt = "interrupt",
        Idle = "idle",
    }
}

word_enum! {
    /// The kind of code that a function belongs to.
    FunctionKind {
        Kernel = "kernel",
        /// A BPF program of somebody else.
        Bpf = "bpf",
        /// A BPF program of this measurement.
        OwnBpf = "own_bpf",
        /// A program in user space, or a library.
        Program = "program",
    }
}

table! {
    /// One row a stack and group of threads.
    STACKS: StackRow = "stacks", "a stack of functions that was found on the side's own CPUs while the load was measured, and how often";
    host: Text = HOST;
    group: ThreadGroup = (
        "",
        "Whose thread was interrupted: load (or a watched program), agent (other threads of whyperf's agent), kernel, idle (none) or other.",
        "task",
    );
    program: Text = ("", "Name of a thread of the kernel or of a program that is not whyperf; empty of others.", "task");
    context: StackContext = ("", "process (system calls included), softirq, interrupt or idle.", "functions of the stack");
    vector: Option<Vector> = ("", "Of a softirq, its vector, where the sample was taken in the vector's function.", "functions of the stack");
    functions: Text = (
        "",
        "Numbers of the functions in `functions`, from the outermost to the innermost, with spaces between; empty where the stack could not be read.",
        "perf event, BPF",
    );
    samples_count: u64 = ("count", "Samples.", "perf event, BPF");
}

table! {
    /// One row a function.
    FUNCTIONS: FunctionRow = "functions", "a function on one of the stacks";
    host: Text = HOST;
    function: u32 = ("", "Its number.", "agent");
    name: Text = ("", "Its name; `[unknown]` where it has none.", "kallsyms, symbol tables, DWARF");
    object: Text = ("", "Module of the kernel, path of the program or library; empty of the kernel itself.", "kallsyms, /proc/PID/maps");
    kind: FunctionKind = ("", "kernel, bpf (a BPF program of somebody else), own_bpf (one of this measurement) or program.", "kallsyms");
    inlined: bool = ("", "Whether the compiler put it into its caller.", "DWARF");
}
