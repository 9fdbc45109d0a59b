//! In which context of the kernel a sample was taken, by the functions on its stack.

use schema::table::{StackContext, Vector};

/// Functions that the kernel enters for a hardware interrupt: x86 (`arch/x86/include/asm/idtentry.h`), arm64
/// (`arch/arm64/kernel/entry.S`).
const INTERRUPTS: [&str; 6] = ["asm_sysvec_", "asm_common_interrupt", "asm_exc_nmi", "el1h_64_irq", "el0t_64_irq", "el0t_32_irq"];
/// Functions that run the pending softirqs (`kernel/softirq.c`); the second until Linux 6.10.
const SOFTIRQS: [&str; 2] = ["handle_softirqs", "__do_softirq"];
/// The function of each vector (`open_softirq`).
const ACTIONS: [(&str, Vector); 15] = [
    ("tasklet_hi_action", Vector::Hi),
    ("run_timer_softirq", Vector::Timer),
    ("net_tx_action", Vector::NetTx),
    ("net_rx_action", Vector::NetRx),
    ("blk_done_softirq", Vector::Block),
    ("irq_poll_softirq", Vector::IrqPoll),
    ("tasklet_action", Vector::Tasklet),
    ("workqueue_softirq_action", Vector::Tasklet),
    ("run_rebalance_domains", Vector::Sched),
    ("sched_balance_softirq", Vector::Sched),
    ("hrtimer_run_softirq", Vector::Hrtimer),
    ("rcu_core_si", Vector::Rcu),
    ("rcu_core", Vector::Rcu),
    ("rcu_process_callbacks", Vector::Rcu),
    ("tasklet_action_common", Vector::Tasklet),
];

/// The context of a stack, its functions given from the innermost to the outermost; of softirqs the vector, too, where
/// the sample was taken in its function.
pub fn of_stack<'a>(innermost_first: impl Iterator<Item = &'a str>, is_idle: bool) -> (StackContext, Option<Vector>) {
    let mut vector = None;
    for name in innermost_first {
        let name = base_name(name);
        if SOFTIRQS.contains(&name) {
            return (StackContext::Softirq, vector);
        }
        if INTERRUPTS.iter().any(|prefix| name.starts_with(prefix)) {
            return (StackContext::Interrupt, None);
        }
        if let Some((_, found)) = ACTIONS.iter().find(|(action, _)| *action == name) {
            vector = Some(*found);
        }
    }
    (if is_idle { StackContext::Idle } else { StackContext::Process }, None)
}

/// Without what a compiler appends to copies of a function, such as `.isra.0`.
fn base_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(outermost_first: &str, is_idle: bool) -> (StackContext, Option<Vector>) {
        let mut names: Vec<_> = outermost_first.split(' ').collect();
        names.reverse();
        of_stack(names.into_iter(), is_idle)
    }

    #[test]
    fn the_innermost_of_softirq_and_interrupt_counts() {
        let process = "entry_SYSCALL_64_after_hwframe tcp_sendmsg __local_bh_enable_ip";
        assert_eq!(of(process, false), (StackContext::Process, None));
        let softirq = format!("{process} do_softirq handle_softirqs net_rx_action process_backlog");
        assert_eq!(of(&softirq, false), (StackContext::Softirq, Some(Vector::NetRx)));
        assert_eq!(of(&format!("{softirq} asm_sysvec_apic_timer_interrupt ktime_get"), false), (StackContext::Interrupt, None));
        let at_exit = "asm_sysvec_apic_timer_interrupt irq_exit_rcu handle_softirqs run_timer_softirq.isra.0 tcp_write_timer";
        assert_eq!(of(at_exit, true), (StackContext::Softirq, Some(Vector::Timer)));
        assert_eq!(of("run_ksoftirqd __do_softirq", false), (StackContext::Softirq, None));
    }

    #[test]
    fn an_idle_cpu_is_idle_unless_an_interrupt_came() {
        assert_eq!(of("cpu_startup_entry do_idle pv_native_safe_halt", true), (StackContext::Idle, None));
        assert_eq!(of("do_idle asm_sysvec_call_function_single sched_ttwu_pending", true), (StackContext::Interrupt, None));
    }
}
