/* The stage clock. Each CPU has two levels, a thread and the softirqs on top of it. A level is in one stage at a time: a
 * program ends it and begins the next, so that stages take all of the time and no time twice. What is on top of a level
 * stops its clock.
 *
 * Programs take the time only near a sampled segment: each one sets the CPU's attention to a number of runs, and every
 * run without one takes 1 of it. Without attention nothing is known of a level.
 */
#pragma once

#include "maps.h"
#include "../../evidence/bpf/ring.h"
#include "../../evidence/bpf/sending.h"

#define ATTENTION 192

/* A run of a program. */
struct run {
	struct stage_cpu *cpu;
	struct stage_level *level;
	__u64 now_ns;       /* CLOCK_MONOTONIC */
	__u64 above_ns;     /* of the level, at that moment */
	__u64 number;       /* of the level */
};

static __always_inline __u16 port_of(__u32 which)
{
	return which;
}

static __always_inline struct sampled_end *end_of(__u32 which)
{
	__u64 number = which >> 16;

	/* A verifier must see the bound. */
	asm volatile("%0 &= 1" : "+r"(number));
	return &stage_control.ends[number];
}

/* What was known before the programs were attached again is forgotten. */
static __noinline void start_window(struct stage_cpu *cpu)
{
	int level;

	for (level = 0; level < LEVELS; level++) {
		cpu->levels[level].cursor_ns = 0;
		cpu->levels[level].stage = NO_STAGE;
		cpu->levels[level].segment.which = 0;
		cpu->levels[level].segment.is_sampled = 0;
	}
	cpu->running = 0;
	cpu->attention = 0;
	cpu->entered_ns = 0;
	cpu->interrupted_ns = 0;
	cpu->raised_ns = 0;
	cpu->interrupt_ns = 0;
	cpu->waited_ns = 0;
	cpu->queued_packet = 0;
	cpu->driver_packet = 0;
	cpu->handed.is_sampled = 0;
	cpu->is_measuring = 0;
	cpu->is_known = 0;
	cpu->window_ns = stage_control.window_ns;
}

static __always_inline struct stage_cpu *cpu_of_window(void)
{
	__u32 number = bpf_get_smp_processor_id();
	struct stage_cpu *cpu = stage_control.window_ns ? bpf_map_lookup_elem(&stage_cpus, &number) : NULL;

	if (cpu && cpu->window_ns != stage_control.window_ns)
		start_window(cpu);
	return cpu;
}

/* None before it is known what runs on it: a window may open within a softirq. */
static __always_inline struct stage_cpu *this_cpu(void)
{
	struct stage_cpu *cpu = cpu_of_window();

	return cpu && cpu->is_known ? cpu : NULL;
}

/* For hooks that show what runs. */
static __always_inline struct stage_cpu *this_known_cpu(void)
{
	struct stage_cpu *cpu = cpu_of_window();

	if (cpu)
		cpu->is_known = 1;
	return cpu;
}

static __always_inline bool is_of_window(__u64 seen_ns)
{
	return seen_ns >= stage_control.window_ns;
}

static __noinline void count_gap(__u32 which, __u32 reason, __u64 count)
{
	struct gap_key key = {.which = which, .reason = reason};
	__u64 *known = bpf_map_lookup_elem(&stage_gaps, &key);

	if (known)
		__sync_fetch_and_add(known, count);
	else
		bpf_map_update_elem(&stage_gaps, &key, &count, BPF_ANY);
}

static __always_inline void forget(struct stage_level *level)
{
	level->cursor_ns = 0;
	level->stage = NO_STAGE;
	level->segment.which = 0;
	level->segment.is_sampled = 0;
}

/* Begins a run on a CPU that pays attention. The clock and what stops it belong together: a softirq may come between. */
static __always_inline void begin_at(struct run *run, struct stage_cpu *cpu, __u32 number)
{
	struct stage_level *level = number ? &cpu->levels[1] : &cpu->levels[0];
	__u32 attention;

	run->cpu = cpu;
	run->level = level;
	run->number = number;
	run->above_ns = level->above_ns;
	run->now_ns = bpf_ktime_get_ns();
	if (run->above_ns != *(volatile __u64 *)&level->above_ns) {
		run->above_ns = level->above_ns;
		run->now_ns = bpf_ktime_get_ns();
	}
	level->probes += 1;
	/* A softirq may have taken the last of it meanwhile. */
	attention = *(volatile __u32 *)&cpu->attention;
	if (attention)
		cpu->attention = attention - 1;
}

static __always_inline void start_run(struct run *run, struct stage_cpu *cpu)
{
	begin_at(run, cpu, cpu->running != 0);
}

/* A run is that of the side whose stage it ends or begins. */
static __always_inline void count_run(struct stage_cpu *cpu, const struct stage_level *level, __u64 own_ns)
{
	__u64 owner = level->segment.which ? 1 + (level->segment.which >> 16) : 0;

	asm volatile("%0 &= 3" : "+r"(owner));
	cpu->runs_count[owner] += 1;
	cpu->own_ns[owner] += own_ns;
}

/* Ends a run. What it took is not the stage's; what the kernel takes to call it is. */
static __always_inline void end(struct run *run)
{
	struct stage_level *level = run->level;
	__u64 above_ns = *(volatile __u64 *)&level->above_ns;
	__u64 own_ns = bpf_ktime_get_ns() - run->now_ns - (above_ns - run->above_ns);

	level->above_ns += own_ns;
	count_run(run->cpu, level, own_ns);
	if (run->cpu->attention == 0) {
		forget(&run->cpu->levels[0]);
		forget(&run->cpu->levels[1]);
		run->cpu->raised_ns = 0;
		run->cpu->entered_ns = 0;
		run->cpu->interrupted_ns = 0;
		run->cpu->interrupt_ns = 0;
	}
}

static __always_inline void pay_attention(struct stage_cpu *cpu)
{
	cpu->attention = ATTENTION;
}

/* Of a row, what is not its segment's. */
struct span {
	__u64 start_ns;
	__u64 wall_ns;
	__u64 cpu_ns;
	__u32 probes;
	__u32 copied_bytes;
};

static __noinline void write_row(struct run *run, const struct stage_segment *segment, __u32 stage, const struct span *span)
{
	__u32 number = end_of(segment->which)->logs_first + bpf_get_smp_processor_id() * LEVELS + run->number;
	struct log_head *log = bpf_map_lookup_elem(&stage_logs, &number);
	struct stage_record *record;

	if (!log)
		return;
	/* A thread's program may be interrupted by another thread's where the kernel is preempted. */
	if (log->pad1[0]) {
		log->lost += 1;
		return;
	}
	log->pad1[0] = 1;
	record = next_record(log, log_mask, sizeof(struct stage_record));
	if (record) {
		record->start_ns = span->start_ns;
		record->wall_ns = span->wall_ns;
		record->cpu_ns = span->cpu_ns;
		record->probes = span->probes;
		record->copied_bytes = span->copied_bytes;
		record->sequence = segment->sequence;
		record->payload_bytes = segment->payload_bytes;
		record->wire_segments = segment->wire_segments;
		record->port = port_of(segment->which);
		record->direction = segment->direction;
		record->retransmission = segment->retransmission;
		record->thread = bpf_get_current_pid_tgid();
		record->sample_mask = stage_control.sample_mask;
		record->stage = stage;
		record->context = context_here(run->cpu->running);
		commit_record(log);
	}
	log->pad1[0] = 0;
}

/* Ends the level's stage as `stage` of a segment. */
static __always_inline void close_as(struct run *run, __u32 stage, const struct stage_segment *segment, __u32 copied_bytes)
{
	struct stage_level *level = run->level;
	__u64 now_ns = run->now_ns - run->above_ns;
	struct span span;

	if (!segment->is_sampled || stage == NO_STAGE)
		return;
	if (!level->cursor_ns) {
		count_gap(segment->which, STAGE_GAP_NO_START, 1);
		return;
	}
	span.start_ns = level->start_ns;
	span.wall_ns = run->now_ns - level->start_ns;
	span.cpu_ns = now_ns > level->cursor_ns ? now_ns - level->cursor_ns : 0;
	span.probes = level->probes;
	span.copied_bytes = copied_bytes;
	write_row(run, segment, stage, &span);
}

/* Ends it as what it is. After the transmission of an ACK goes on what went on before. */
static __always_inline void close(struct run *run)
{
	struct stage_level *level = run->level;
	struct stage_segment segment = level->segment;

	close_as(run, level->stage, &segment, level->stage == STAGE_COPY_OUT ? segment.payload_bytes : 0);
	if (level->stage == STAGE_ACK_OUT)
		level->segment = level->before;
}

/* Begins a stage of the same segment. */
static __always_inline void open(struct run *run, __u32 stage)
{
	struct stage_level *level = run->level;

	level->stage = stage;
	level->start_ns = run->now_ns;
	level->cursor_ns = run->now_ns - run->above_ns;
	/* Half of this run is in it, and half of the one that ends it. */
	level->probes = 0;
}

static __always_inline void open_of(struct run *run, __u32 stage, const struct stage_segment *segment)
{
	run->level->segment = *segment;
	open(run, stage);
}

/* A row of waiting, with a start of its own. */
static __always_inline void write_wait(struct run *run, __u32 stage, const struct stage_segment *segment, __u64 since_ns)
{
	struct span span = {.start_ns = since_ns, .wall_ns = run->now_ns > since_ns ? run->now_ns - since_ns : 0};

	write_row(run, segment, stage, &span);
}

/* A thread of the load, before it can lose its CPU in a sampled stage. */
static __always_inline void know_thread(void)
{
	bpf_task_storage_get(&parked_threads, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Whether a packet is between TCP and the driver. */
static __always_inline bool is_leaving(const struct stage_level *level)
{
	return level->stage == STAGE_QDISC_OUT || level->stage == STAGE_ACK_OUT;
}

/* What waited, once: it is forgotten here. */
static __always_inline bool end_wait(struct run *run, struct sk_buff *skb, __u32 stage, struct stage_segment *segment)
{
	__u64 key = (__u64)skb;
	struct waiting *waiting = bpf_map_lookup_elem(&waiting_packets, &key);
	__u64 since_ns;
	__u32 cpu;

	if (!waiting)
		return false;
	/* One that was dropped, or that left unseen, leaves its address to another. */
	if ((waiting->segment.direction == DIRECTION_OUT) != (stage == STAGE_QDISC_WAIT) || !is_of_window(waiting->since_ns)) {
		bpf_map_delete_elem(&waiting_packets, &key);
		return false;
	}
	*segment = waiting->segment;
	since_ns = waiting->since_ns;
	cpu = waiting->cpu;
	bpf_map_delete_elem(&waiting_packets, &key);
	__sync_fetch_and_add(&stage_control.waiting_count, -1);
	/* Out again at once, in the same transmission: that is no waiting. */
	if (stage == STAGE_QDISC_WAIT) {
		if (is_leaving(run->level) && run->cpu->queued_packet == key)
			return true;
		if (cpu != bpf_get_smp_processor_id())
			count_gap(segment->which, STAGE_GAP_OTHER_CPU, 1);
	}
	write_wait(run, stage, segment, since_ns);
	return true;
}
