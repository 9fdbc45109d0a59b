/* What the programs for stage times and their reader share.
 * The reader's side, ../layout.rs, is generated from this file by `make schemas`, comments included.
 */
#pragma once

#include "../../evidence/bpf/layout.h"

/* Contexts of a CPU that have a stage of their own: a thread, and softirqs on top of it. */
#define LEVELS 2

/* Whose run of a program it is: 0 is neither side's, 1 + `enum end_number` that side's. A power of two, so that a verifier
 * sees the bound.
 */
#define OWNERS 4

/* In the place of a stage: none is known. */
#define NO_STAGE 255

/* Costs of an empty pair of programs are counted in ns up to this many. */
#define EMPTY_BINS 1024

/* A system call that no kernel has: the reader makes it in order to measure an empty pair. */
#define EMPTY_CALL 0x57e9

/* Which connections of a side are sampled, and where its rows go. Each side's reader writes its own. */
struct sampled_end {
	__u32 netns;      /* inode number of the network namespace */
	__u16 port;       /* the listening end's port; 0: nothing is sampled */
	__u16 unused;
	__u32 logs_first; /* first of its part of the map `stage_logs` */
	__u32 unused_too;
};

/* Values that readers set and see without a system call; all there is in .bss. */
struct stage_control {
	struct sampled_end ends[ENDS];
	__u32 sample_mask;            /* of so many blocks one is sampled, less one */
	__u32 block_shift;            /* a block is 2 to this power bytes */
	__u32 waiting_count;          /* the programs' own: packets put into a queue discipline or backlog, about */
	__u32 is_measuring;           /* whether empty pairs are measured */
	__u64 window_ns;              /* since when all programs look; what was seen before is forgotten. 0: they do not */
	__u64 empty_ns[EMPTY_BINS];   /* how often an empty pair took so many ns; the last bin counts all beyond */
};

/* All that is known of a segment, or of a part of a call. */
struct stage_segment {
	__u32 which;          /* the end's number and the connecting end's port; 0: none */
	__u32 sequence;
	__u32 payload_bytes;
	__u16 wire_segments;
	__u8 direction;       /* of `enum direction` */
	__u8 retransmission;  /* of `enum retransmission`, or `NONE` */
	__u8 is_sampled;
	__u8 unused[3];
};

/* The stage that a thread or a softirq is in on a CPU. */
struct stage_level {
	__u64 cursor_ns;   /* when the stage began, on a clock that stands still while `above_ns` grows; 0: not known */
	__u64 start_ns;    /* the same on CLOCK_MONOTONIC */
	__u64 above_ns;    /* time of interrupts, softirqs and writing rows on top, since the programs were loaded */
	struct stage_segment segment;
	struct stage_segment before; /* of an ACK's transmission: what went on before it */
	__u32 probes;      /* runs of programs within the stage */
	__u8 stage;        /* of `enum stage`, or `NO_STAGE` */
	__u8 stage_before;
	__u8 unused[2];
};

/* Of one CPU, written by that CPU alone. */
struct stage_cpu {
	struct stage_level levels[LEVELS];
	__u32 running;          /* vector + 1; 0: no softirq runs */
	__u32 attention;        /* so many runs of programs still take the time; 0: no sampled segment is near */
	__u64 entered_ns;       /* when the softirq began; 0: not known */
	__u64 interrupted_ns;   /* when the hardware interrupt began; 0: not known, or none runs */
	__u64 raised_ns;        /* when receive processing was asked for; 0: not known */
	__u64 interrupt_start_ns; /* the hardware interrupt that asked for it */
	__u64 interrupt_ns;     /* how long that took; 0: there is none whose time was not given to a segment yet */
	__u64 waited_from_ns;   /* when the receive processing that runs was asked for */
	__u64 waited_ns;        /* how long it waited; 0: that was given to a segment already */
	__u64 queued_packet;    /* what is between TCP and the driver, by its address */
	__u64 driver_packet;    /* what is in the driver */
	__u64 runs_count[OWNERS]; /* runs of programs that took the time: by side, 0 for neither */
	__u64 own_ns[OWNERS];     /* time of these that was not the stages' */
	__u32 has_gro;          /* whether the receive processing that runs uses GRO */
	__u32 is_measuring;     /* whether an empty pair has begun */
	struct stage_segment handed; /* the last that the driver took; receive processing that follows signals another CPU of it */
	__u32 unused;
	__u64 window_ns;        /* the window that all of this is of */
	__u64 is_known;         /* whether it was seen in this window that a thread, or that a softirq runs */
	__u64 pad[1];           /* no two CPUs write to one cache line */
};

/* A row. */
struct stage_record {
	__u64 start_ns;        /* CLOCK_MONOTONIC in ns */
	__u64 wall_ns;
	__u64 cpu_ns;
	__u32 sequence;
	__u32 payload_bytes;
	__u32 copied_bytes;
	__u32 thread;          /* number of the thread in the initial PID namespace */
	__u32 sample_mask;     /* of so many blocks one is sampled, less one */
	__u16 wire_segments;
	__u16 port;            /* port of the connecting end: identifies the connection */
	__u16 probes;
	__u8 stage;            /* of `enum stage` */
	__u8 direction;        /* of `enum direction` */
	__u8 context;          /* of `enum context` */
	__u8 retransmission;   /* of `enum retransmission`, or `NONE` */
	__u8 unused[2];
};

/* Key of the map of gaps. */
struct gap_key {
	__u32 which;  /* the end's number and the connecting end's port */
	__u32 reason; /* of `enum stage_gap` */
};
