/* Counts the stacks of whatever runs when a perf event of a CPU fires. */
#include "kernel.h"
#include "layout.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* include/linux/sched.h. */
#define PF_IDLE 0x2
#define PF_KTHREAD 0x200000

/* Inode of the initial PID namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCU

struct sampling_request asked = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sampled);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct frames);
} stacks SEC(".maps");

/* The same of programs that are not the load: any user can run one that has another stack at each sample. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sampled);
	__type(value, __u64);
} counts_of_others SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct frames);
} stacks_of_others SEC(".maps");

/* The load's threads, or where other programs are watched their processes, by their numbers in the agent's PID namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} load_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frames);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampled_cpu);
} cpus SEC(".maps");

/* The number of a stack: a hash of all its addresses, whatever lies behind them in the scratch. The odd factors are
 * those of MurmurHash3's finalizer (public domain), which mixes every bit into every other.
 */
static __always_inline __u64 number_of(const struct frames *frames)
{
	__u64 number = frames->count;
	__u32 i;

	for (i = 0; i < MAX_FRAMES; i++) {
		if (i >= frames->count)
			break;
		number = (number ^ frames->addresses[i]) * 0xff51afd7ed558ccdULL;
		number ^= number >> 32;
	}
	return number ? number : 1;
}

/* Keeps the stack, and gives its number: 0 for none, or where there is no room. */
static __always_inline __u64 kept(void *context, __u64 flags, void *stacks, bool *is_lost)
{
	__u32 zero = 0;
	struct frames *frames = bpf_map_lookup_elem(&scratch, &zero);
	long bytes;
	__u64 number;

	if (!frames)
		return 0;
	bytes = bpf_get_stack(context, frames->addresses, sizeof(frames->addresses), flags);
	if (bytes <= 0)
		return 0;
	frames->count = (__u64)bytes / sizeof(__u64);
	number = number_of(frames);
	if (!bpf_map_lookup_elem(stacks, &number) && bpf_map_update_elem(stacks, &number, frames, BPF_NOEXIST) &&
	    !bpf_map_lookup_elem(stacks, &number))
		*is_lost = true;
	return number;
}

/* Time of interrupts on this CPU that the kernel keeps out of the threads' time; 0 where it does not. */
static __always_inline __u64 irq_ns_apart(void)
{
	const struct irqtime *apart;

	if (!bpf_ksym_exists(&cpu_irqtime))
		return 0;
	apart = bpf_this_cpu_ptr(&cpu_irqtime);
	return apart->total;
}

static __always_inline __u32 group_of_task(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 flags = BPF_CORE_READ(task, flags);
	struct bpf_pidns_info here = {};

	if (flags & PF_IDLE)
		return GROUP_IDLE;
	if (flags & PF_KTHREAD)
		return GROUP_KERNEL;
	/* Of a process in a namespace within the initial one, that one has the number, too. */
	if (asked.namespace_inode == INITIAL_PID_NAMESPACE && asked.watches)
		here.tgid = bpf_get_current_pid_tgid() >> 32;
	else if (bpf_get_ns_current_pid_tgid(asked.namespace_device, asked.namespace_inode, &here, sizeof(here)))
		return GROUP_OTHER;
	if (asked.watches && bpf_map_lookup_elem(&load_threads, &here.tgid))
		return GROUP_LOAD;
	if (here.tgid != asked.process)
		return GROUP_OTHER;
	if (asked.watches)
		return GROUP_AGENT;
	return bpf_map_lookup_elem(&load_threads, &here.pid) ? GROUP_LOAD : GROUP_AGENT;
}

static __always_inline void count(struct sampled *sampled, void *counts, bool *is_lost)
{
	__u64 first_count = 1, *found = bpf_map_lookup_elem(counts, sampled);

	if (!found) {
		if (!bpf_map_update_elem(counts, sampled, &first_count, BPF_NOEXIST))
			return;
		/* Another CPU was faster, or there is no room. */
		found = bpf_map_lookup_elem(counts, sampled);
	}
	if (found)
		__sync_fetch_and_add(found, 1);
	else
		*is_lost = true;
}

/* Counts a sample of a program that is not the load: where there is no room, without what that program chooses. */
static __always_inline void count_other(void *context, struct sampled *sampled, bool *is_lost)
{
	bool has_no_room = false;

	sampled->user_stack = kept(context, BPF_F_USER_STACK, &stacks_of_others, &has_no_room);
	if (!has_no_room)
		count(sampled, &counts_of_others, &has_no_room);
	if (!has_no_room)
		return;
	sampled->user_stack = 0;
	sampled->process = 0;
	__builtin_memset(sampled->name, 0, sizeof(sampled->name));
	count(sampled, &counts, is_lost);
}

SEC("perf_event")
int sample(void *context)
{
	__u64 start_ns = bpf_ktime_get_ns();
	struct sampled sampled = {};
	struct sampled_cpu *cpu;
	bool is_lost = false, is_of_others;
	__u32 zero = 0;

	if (start_ns < asked.start_ns || start_ns >= asked.end_ns)
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &zero);
	if (!cpu)
		return 0;
	sampled.group = group_of_task();
	sampled.kernel_stack = kept(context, 0, &stacks, &is_lost);
	if (sampled.group == GROUP_LOAD || sampled.group == GROUP_AGENT)
		sampled.user_stack = kept(context, BPF_F_USER_STACK, &stacks, &is_lost);
	is_of_others = sampled.group == GROUP_OTHER || (sampled.group == GROUP_LOAD && asked.watches);
	if (is_of_others)
		sampled.process = bpf_get_current_pid_tgid() >> 32;
	if (is_of_others || sampled.group == GROUP_KERNEL)
		bpf_get_current_comm(sampled.name, sizeof(sampled.name));
	if (!is_lost && sampled.group == GROUP_OTHER)
		count_other(context, &sampled, &is_lost);
	else if (!is_lost)
		count(&sampled, &counts, &is_lost);
	cpu->apart_ns = irq_ns_apart();
	if (cpu->samples_count == 0)
		cpu->apart_from_ns = cpu->apart_ns;
	cpu->samples_count += 1;
	cpu->lost_count += is_lost;
	cpu->own_ns += bpf_ktime_get_ns() - start_ns;
	return 0;
}

/* The running thread gives its CPU away. What the scheduler counts for it lacks the time that the hypervisor took, if it
 * reports that (CONFIG_PARAVIRT_TIME_ACCOUNTING), and samples fall into that time, too: so the time that they split is
 * taken here, by the clock that they are taken by.
 */
static __always_inline void on_leaving(void)
{
	__u64 now = bpf_ktime_get_ns(), since, until;
	__u32 zero = 0;
	struct sampled_cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!cpu)
		return;
	since = cpu->switched_ns > asked.start_ns ? cpu->switched_ns : asked.start_ns;
	until = now < asked.end_ns ? now : asked.end_ns;
	cpu->switched_ns = now;
	if (since < until && group_of_task() == GROUP_LOAD)
		cpu->on_cpu_ns += until - since;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch)
{
	on_leaving();
	return 0;
}

/* When it has ended, it has no number any more by which it could be known. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit)
{
	on_leaving();
	return 0;
}
