/* What the programs share with their readers and with each other. */
#pragma once

#include "layout.h"
#include "../../evidence/bpf/sight.h"
#include <bpf/bpf_tracing.h>

/* Values that are fixed when the object is loaded; all there is in .rodata. */
const volatile __u32 log_mask = 0; /* slots of a log - 1 */

struct stage_control stage_control = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stage_cpu);
} stage_cpus SEC(".maps");

/* A log for each host, CPU and level: each has one writer. The length of a value is set when the object is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct log_head));
} stage_logs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct gap_key);
	__type(value, __u64);
} stage_gaps SEC(".maps");

/* A packet in a queue discipline or a CPU's backlog, by its address. */
struct waiting {
	__u64 since_ns;
	struct stage_segment segment;
	__u32 cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct waiting);
} waiting_packets SEC(".maps");

/* When TCP took a sampled segment that arrived, and whether that woke its reader; of one that was read in part, the rest. */
struct arrival_key {
	__u32 which;
	__u32 sequence;
};

struct arrival {
	__u64 since_ns;
	__u32 payload_bytes;
	__u32 has_woken;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct arrival_key);
	__type(value, struct arrival);
} arrivals SEC(".maps");

/* A reader that a sampled segment woke, by its number in the initial PID namespace. */
struct woken {
	__u64 since_ns;
	struct stage_segment segment;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct woken);
} woken_readers SEC(".maps");

/* The stage of a thread of the load that has no CPU. */
struct parked {
	struct stage_level level;
	__u64 since_ns;  /* how much of the stage it had behind it when it lost its CPU; ~0: not known */
	__u64 parked_ns; /* 0: nothing is parked */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct parked);
} parked_threads SEC(".maps");
