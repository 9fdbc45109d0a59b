/* Read and write calls: when a thread entered the kernel, when the socket was done, and what the thread
 * did instead of running, in the call and before it. What is known of a thread is kept in the kernel's
 * storage of its task.
 */
#pragma once

#include "log.h"

/* include/linux/socket.h. */
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000

/* include/uapi/asm-generic/errno-base.h. */
#define EAGAIN 11

/* include/linux/sched.h. PF_IO_WORKER and PF_USER_WORKER are threads of io_uring. */
#define TASK_RUNNING 0
#define PF_IO_WORKER 0x10
#define PF_USER_WORKER 0x4000

/* Times of a thread, since it was first seen. */
struct spent {
	__u64 asleep_ns;
	__u64 runnable_ns;   /* runnable and not running */
	__u64 softirq_ns;    /* softirqs on top of it */
};

struct thread {
	__u64 entered_ns;    /* when it entered its system call, or its last call in it ended; 0: not known */
	__u64 left_ns;       /* when it left its CPU; 0: it has one */
	__u64 woken_ns;
	__u64 left_runnable; /* whether it would have gone on */
	struct spent now;
	struct spent at_entry;   /* when `entered_ns` was */
	struct spent at_end;     /* when its last call ended */
};

/* Linux 5.11; made only where calls are logged. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static __always_inline struct thread *thread_of(struct task_struct *task, __u64 flags)
{
	return bpf_task_storage_get(&threads, task, NULL, flags);
}

/* A process that has called once is watched with all its threads, so that the first call of a thread
 * made for the load has a beginning. Where sockets are chosen, the reader names the processes.
 */
static __always_inline bool is_watched_process(__u32 process)
{
	if (CHOOSES)
		return has_chosen(process) || is_opener(process);
	return process == control.ends[LISTENING].process || process == control.ends[CONNECTING].process;
}

/* The thread's times until now, and now. A softirq between the two would count on the wrong side. */
static __always_inline __u64 take_stock(struct thread *thread, struct spent *spent)
{
	__u64 now;

	*spent = thread->now;
	now = bpf_ktime_get_ns();
	if (spent->softirq_ns != *(volatile __u64 *)&thread->now.softirq_ns) {
		*spent = thread->now;
		now = bpf_ktime_get_ns();
	}
	return now;
}

static __always_inline void on_system_call(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task, !CHOOSES && is_watched_process(task->tgid) ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);

	/* Where sockets are chosen, that takes longer to find out than whether the thread is known. */
	if (CHOOSES && !thread && is_watched_process(task->tgid))
		thread = thread_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread)
		thread->entered_ns = take_stock(thread, &thread->at_entry);
}

/* What is known of a thread of the kernel is never asked for: it enters no system call, so that its calls have no beginning. */
static __always_inline struct thread *timed_thread_of(struct task_struct *task)
{
	return task->flags & PF_KTHREAD ? NULL : thread_of(task, 0);
}

static __always_inline void on_waking(struct task_struct *task)
{
	struct thread *thread = timed_thread_of(task);

	if (thread)
		thread->woken_ns = bpf_ktime_get_ns();
}

/* Without a sign of its waking all the time away was sleep. */
static __always_inline void on_return(struct thread *thread, __u64 now)
{
	__u64 left = thread->left_ns, woken = thread->woken_ns;

	if (left == 0)
		return;
	if (thread->left_runnable)
		woken = left;
	else if (woken < left || woken > now)
		woken = now;
	thread->now.asleep_ns += woken - left;
	thread->now.runnable_ns += now - woken;
	thread->left_ns = 0;
}

static __always_inline void on_switch(struct task_struct *left, bool is_runnable, struct task_struct *came)
{
	struct thread *thread = timed_thread_of(left);
	__u64 now = 0;

	if (thread) {
		now = bpf_ktime_get_ns();
		thread->left_ns = now;
		thread->left_runnable = is_runnable;
	}
	thread = timed_thread_of(came);
	if (thread)
		on_return(thread, now ? now : bpf_ktime_get_ns());
}

static __always_inline void on_softirq(__u64 ns)
{
	struct thread *thread = thread_of(bpf_get_current_task_btf(), 0);

	if (thread)
		thread->now.softirq_ns += ns;
}

/* Threads that work in the kernel enter no system call: nobody knows when they began. */
static __always_inline bool is_in_system_call(const struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static __always_inline struct log_head *log_of_calls(watched_t which)
{
	__u32 number = end_of(which)->logs_first + bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&calls, &number);
}

/* The end of a call. One that follows in the same system call begins there. */
static __always_inline void log_call(watched_t which, __u8 kind, int moved)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = thread_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct log_head *log = log_of_calls(which);
	struct call *call = log ? next_record(log, constants.calls_mask, sizeof(struct call)) : NULL;
	struct spent spent;
	__u64 now = thread ? take_stock(thread, &spent) : bpf_ktime_get_ns();

	if (end_of(which)->process == 0)
		end_of(which)->process = task->tgid;
	if (call) {
		call->start_ns = 0;
		call->end_ns = now;
		call->moved_bytes = moved > 0 ? moved : 0;
		call->thread = task->pid;
		call->port = port_of(which);
		call->kind = kind;
		call->outcome = moved >= 0 ? OUTCOME_DONE : moved == -EAGAIN ? OUTCOME_WOULD_BLOCK : OUTCOME_FAILED;
		if (thread && thread->entered_ns) {
			call->start_ns = thread->entered_ns;
			call->asleep_ns = spent.asleep_ns - thread->at_entry.asleep_ns;
			call->runnable_ns = spent.runnable_ns - thread->at_entry.runnable_ns;
			call->softirq_ns = spent.softirq_ns - thread->at_entry.softirq_ns;
			call->asleep_before_ns = thread->at_entry.asleep_ns - thread->at_end.asleep_ns;
			call->runnable_before_ns = thread->at_entry.runnable_ns - thread->at_end.runnable_ns;
			call->softirq_before_ns = thread->at_entry.softirq_ns - thread->at_end.softirq_ns;
		}
		commit_record(log);
	}
	if (thread) {
		thread->entered_ns = is_in_system_call(task) ? now : 0;
		thread->at_entry = spent;
		thread->at_end = spent;
	}
}
