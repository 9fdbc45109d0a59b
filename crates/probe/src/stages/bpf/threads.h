/* System calls, and what takes a CPU from a stage: other threads, softirqs, interrupts. */
#pragma once

#include "sampling.h"

/* What a CPU that steers packets makes another one do; net/core/dev.c. A kernel may lack the name. */
extern const void rps_trigger_softirq __ksym __weak;

static __always_inline void measure_empty(struct run *run)
{
	__u64 ns = run->now_ns - run->above_ns - run->level->cursor_ns;

	if (ns >= EMPTY_BINS)
		ns = EMPTY_BINS - 1;
	stage_control.empty_ns[ns & (EMPTY_BINS - 1)] += 1;
}

/* At raw_syscalls:sys_enter. */
static __always_inline void on_enter(long call)
{
	struct stage_cpu *cpu = this_known_cpu();
	struct run run;

	if (!cpu)
		return;
	if (stage_control.is_measuring && call == EMPTY_CALL) {
		pay_attention(cpu);
		cpu->is_measuring = 1;
	}
	if (!cpu->attention)
		return;
	begin_at(&run, cpu, 0);
	close(&run);
	open(&run, STAGE_CALL_ENTRY);
	end(&run);
}

/* At raw_syscalls:sys_exit. */
static __always_inline void on_exit(void)
{
	struct stage_cpu *cpu = this_known_cpu();
	struct run run;

	if (!cpu || !cpu->attention)
		return;
	begin_at(&run, cpu, 0);
	if (cpu->is_measuring) {
		cpu->is_measuring = 0;
		measure_empty(&run);
	}
	close(&run);
	open(&run, STAGE_APPLICATION);
	end(&run);
}

/* At sock:sock_send_length and sock:sock_recv_length: the socket is done. A call that moved nothing goes on as its entry. */
static __always_inline void on_socket_done(struct sock *sk, int moved, bool writes)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_segment call;
	struct stage_level *level;
	struct tcp_sock *tp;
	struct run run;
	__u32 which, end_sequence;

	if (!cpu || !cpu->attention || is_idle())
		return;
	which = which_sock(sk);
	tp = which ? tcp_sock_of(sk) : NULL;
	if (!tp)
		return;
	begin_at(&run, cpu, 0);
	level = run.level;
	if (moved > 0) {
		end_sequence = writes ? tp->write_seq : tp->copied_seq;
		name_segment(&call, which, writes ? DIRECTION_OUT : DIRECTION_IN, end_sequence - moved, moved, 0);
		call.wire_segments = 0;
		if (level->stage == STAGE_COPY_IN && level->segment.which == which) {
			level->segment.payload_bytes = end_sequence - level->segment.sequence;
			close_as(&run, STAGE_COPY_IN, &level->segment, level->segment.payload_bytes);
		} else {
			close(&run);
		}
		open_of(&run, STAGE_CALL_EXIT, &call);
	}
	end(&run);
}

/* The thread that loses the CPU: its stage waits with it. Of threads of the load alone. */
static __always_inline void park(struct run *run, struct task_struct *task)
{
	struct stage_level *level = run->level;
	struct parked *parked;

	if (!level->segment.which)
		return;
	/* Made before: here the scheduler's lock is held. */
	parked = bpf_task_storage_get(&parked_threads, task, NULL, 0);
	if (!parked)
		return;
	parked->level = *level;
	parked->since_ns = level->cursor_ns ? run->now_ns - run->above_ns - level->cursor_ns : ~0ULL;
	parked->parked_ns = run->now_ns;
}

/* The thread that gets it. */
static __always_inline void unpark(struct run *run, struct parked *parked)
{
	struct stage_level *level = run->level;
	__u64 above_ns = level->above_ns;

	*level = parked->level;
	level->above_ns = above_ns;
	level->cursor_ns = parked->since_ns == ~0ULL ? 0 : run->now_ns - run->above_ns - parked->since_ns;
	parked->parked_ns = 0;
}

/* At sched:sched_switch. */
static __always_inline void on_switch(struct task_struct *left, struct task_struct *came)
{
	struct stage_cpu *cpu = this_known_cpu();
	struct stage_segment segment;
	struct parked *parked;
	struct woken *woken;
	__u32 thread = came->pid;
	__u64 since_ns = 0;
	bool is_parked;
	struct run run;

	if (!cpu || is_idle())
		return;
	parked = thread ? bpf_task_storage_get(&parked_threads, came, NULL, 0) : NULL;
	woken = thread && (__s32)stage_control.waiting_count > 0 ? bpf_map_lookup_elem(&woken_readers, &thread) : NULL;
	if (woken) {
		segment = woken->segment;
		since_ns = is_of_window(woken->since_ns) ? woken->since_ns : 0;
		bpf_map_delete_elem(&woken_readers, &thread);
		if (since_ns) {
			__sync_fetch_and_add(&stage_control.waiting_count, -1);
			pay_attention(cpu);
		}
	}
	is_parked = parked && parked->parked_ns && is_of_window(parked->parked_ns);
	if (is_parked && parked->level.segment.is_sampled)
		pay_attention(cpu);
	if (!cpu->attention) {
		if (parked)
			parked->parked_ns = 0;
		return;
	}
	begin_at(&run, cpu, 0);
	park(&run, left);
	if (is_parked)
		unpark(&run, parked);
	else
		forget(run.level);
	/* Of a call whose beginning is not known, what is left. */
	if (since_ns && run.level->stage == NO_STAGE)
		open(&run, STAGE_CALL_ENTRY);
	if (since_ns)
		write_wait(&run, STAGE_WAKEUP_WAIT, &segment, since_ns);
	end(&run);
}

/* At irq:softirq_raise. */
static __always_inline void on_raise(__u32 vector)
{
	struct stage_cpu *cpu = this_cpu();
	struct run run;

	if (vector != NET_RX_SOFTIRQ || !cpu || !cpu->attention)
		return;
	start_run(&run, cpu);
	if (!cpu->raised_ns)
		cpu->raised_ns = run.now_ns;
	end(&run);
}

/* At irq:softirq_entry. */
static __always_inline void on_softirq(__u32 vector)
{
	struct stage_cpu *cpu = this_known_cpu();
	struct run run;

	if (!cpu)
		return;
	cpu->running = vector + 1;
	cpu->has_gro = 0;
	cpu->waited_ns = 0;
	if (!cpu->attention) {
		cpu->entered_ns = 0;
		return;
	}
	begin_at(&run, cpu, 1);
	cpu->entered_ns = run.now_ns;
	if (vector == NET_RX_SOFTIRQ && cpu->raised_ns) {
		cpu->waited_from_ns = cpu->raised_ns;
		cpu->waited_ns = run.now_ns - cpu->raised_ns;
		cpu->raised_ns = 0;
	}
	forget(run.level);
	/* Until a packet comes, it is what a transmission has asked for. Its thread may have lost the CPU meanwhile. */
	if (vector == NET_RX_SOFTIRQ) {
		open_of(&run, STAGE_HANDOVER, &cpu->handed);
		cpu->handed.is_sampled = 0;
	} else {
		open(&run, STAGE_TCP_OUT);
	}
	end(&run);
}

/* At csd:csd_queue_cpu: a CPU asks another one to do something. Receive processing that has sent something asks for it to be
 * taken (net_rps_send_ipi). Others ask from interrupts, too, on top of a program of this level.
 */
static __always_inline void on_asked(const struct __call_single_data *call)
{
	struct stage_cpu *cpu = this_cpu();
	struct run run;

	if (!&rps_trigger_softirq || call->func != &rps_trigger_softirq)
		return;
	if (!cpu || !cpu->attention || cpu->running != NET_RX_SOFTIRQ + 1 || !cpu->handed.is_sampled)
		return;
	start_run(&run, cpu);
	close(&run);
	open_of(&run, STAGE_HANDOVER, &cpu->handed);
	cpu->handed.is_sampled = 0;
	end(&run);
}

/* At irq:softirq_exit. */
static __always_inline void on_softirq_end(void)
{
	struct stage_cpu *cpu = this_known_cpu();
	__u64 entered_ns;
	struct run run;

	if (!cpu)
		return;
	if (cpu->attention) {
		begin_at(&run, cpu, 1);
		close(&run);
		forget(run.level);
		end(&run);
		entered_ns = cpu->entered_ns;
		if (entered_ns) {
			cpu->levels[0].above_ns += bpf_ktime_get_ns() - entered_ns;
			cpu->levels[0].probes += 1;
		} else {
			cpu->levels[0].cursor_ns = 0;
		}
	}
	cpu->running = 0;
	cpu->entered_ns = 0;
}

/* At irq:irq_handler_entry and csd:csd_function_entry, which is what another CPU has asked this one to do. */
static __always_inline void on_interrupt(void)
{
	struct stage_cpu *cpu = this_cpu();

	if (!cpu || !cpu->attention)
		return;
	cpu->interrupted_ns = bpf_ktime_get_ns();
}

/* At irq:irq_handler_exit and csd:csd_function_exit. */
static __always_inline void on_interrupt_end(void)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_level *level;
	__u64 interrupted_ns, ns;

	if (!cpu || !cpu->attention || !cpu->interrupted_ns)
		return;
	interrupted_ns = cpu->interrupted_ns;
	ns = bpf_ktime_get_ns() - interrupted_ns;
	level = cpu->running ? &cpu->levels[1] : &cpu->levels[0];
	level->above_ns += ns;
	level->probes += 1;
	count_run(cpu, level, 0);
	cpu->interrupted_ns = 0;
	if (cpu->raised_ns >= interrupted_ns) {
		cpu->interrupt_start_ns = interrupted_ns;
		cpu->interrupt_ns = ns;
	}
}
