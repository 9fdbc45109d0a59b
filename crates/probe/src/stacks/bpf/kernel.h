/* The kernel's types, as little of them as the program reads, by name (CO-RE). */
#pragma once

#include <whyperf/types.h>

/* What bpf_helper_defs.h expects of a vmlinux.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
};
enum {
	BPF_NOEXIST = 1,
	BPF_F_USER_STACK = 256,
};

struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};

struct task_struct {
	unsigned int flags;
} __attribute__((preserve_access_index));

/* kernel/sched/sched.h; only where the kernel was built with CONFIG_IRQ_TIME_ACCOUNTING. */
struct irqtime {
	__u64 total;
} __attribute__((preserve_access_index));

extern const struct irqtime cpu_irqtime __attribute__((weak, section(".ksyms")));
