/* What the program that samples stacks and its reader share.
 * The reader's side, ../layout.rs, is generated from this file by `make schemas`, comments included.
 */
#pragma once

#include <whyperf/types.h>

/* Frames of a stack at most, as the kernel's own default (kernel.perf_event_max_stack). */
#define MAX_FRAMES 127

/* Whose thread was interrupted. */
enum thread_group {
	GROUP_LOAD = 0,   /* a thread of the load, or of a program that is watched */
	GROUP_AGENT = 1,  /* another thread of the agent that measures */
	GROUP_KERNEL = 2, /* a thread of the kernel, such as ksoftirqd */
	GROUP_IDLE = 3,   /* none: the CPU was idle, or an interrupt came on top of that */
	GROUP_OTHER = 4,  /* a thread of another program */
};

/* The key that separates samples. */
struct sampled {
	__u64 kernel_stack; /* number of the frames in the kernel; 0: none */
	__u64 user_stack;   /* number of the frames of the program; 0: none */
	__u32 process;      /* of another program, or one that is watched: its number in the initial PID namespace */
	__u32 group;        /* of `enum thread_group` */
	__u8 name[16];      /* of a thread of the kernel, of another program or one that is watched: its name */
};

/* The addresses of a stack, the innermost first. */
struct frames {
	__u64 count;
	__u64 addresses[MAX_FRAMES];
};

/* The program's counts on a CPU. */
struct sampled_cpu {
	__u64 samples_count; /* samples within the time that is asked for */
	__u64 lost_count;    /* of these, those that found no room */
	__u64 own_ns;        /* time that the program took for them */
	__u64 apart_from_ns; /* time of interrupts that the kernel keeps out of threads' time, at the first sample */
	__u64 apart_ns;      /* the same at the last one */
	__u64 switched_ns;   /* when the CPU was last given to another thread; 0: not since the program was attached */
	__u64 on_cpu_ns;     /* time for which threads of the load had this CPU, within the time that is asked for */
};

/* The request; the reader writes it. */
struct sampling_request {
	__u64 start_ns;         /* samples count from here on, on CLOCK_MONOTONIC */
	__u64 end_ns;           /* and until here; 0: none counts */
	__u64 namespace_device; /* of the agent's PID namespace, as stat(2) has it */
	__u64 namespace_inode;
	__u32 process; /* the agent's number in that namespace */
	__u32 watches; /* whether the load is of other programs, whose processes are named instead of its threads */
};
