/* What the programs share with the reader. They are compiled twice: to watch the connections of one port, and with CHOOSES
 * sockets that are chosen one by one. What serves one of the two costs nothing in the other.
 */
#pragma once

#include "kernel.h"
#include "layout.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>

const volatile struct constants constants = {
	.log_mask = 0,
	.connections_most = 1,
	.calls_mask = 0,
};

struct control control = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

/* The length of a value, and with it of the log, is set when the object is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct log_head));
} logs SEC(".maps");

/* Each side's reader writes its own: threads, or where sockets are chosen the processes that have them. Room is made
 * where one is written: most trials have few threads.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, struct load_thread);
	__type(value, __u8);
} load_threads SEC(".maps");

/* As `logs`, of calls. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct log_head));
} calls SEC(".maps");

/* The sockets that are watched, and what stands for each: of `watched_t`, with its number in the place of the port. Made only
 * where sockets are chosen.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct tuple);
	__type(value, __u32);
} chosen_sockets SEC(".maps");
