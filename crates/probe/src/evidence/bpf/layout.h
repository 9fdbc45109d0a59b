/* What the probe's programs and its reader share: the configuration, the log and the counters.
 * The reader's side, ../layout.rs, is generated from this file by `make schemas`, comments included.
 */
#pragma once

#include <whyperf/codes.h>
#include <whyperf/types.h>

#define PORTS 65536
#define SIZE_CLASSES 24
#define VECTORS 16     /* 10 in use; a power of two, so that a verifier sees the bound */
#define PROCESS_WORDS 16
#define PICKS 256

/* Places that are left free of what CPUs may take at the same time. */
#define SPARE_PICKS 64

/* In the place of a network namespace: sockets of several are chosen. */
#define SEVERAL_NAMESPACES 0xFFFFFFFFU

/* A code in `reason` and `retransmission` of a record: none. */
#define NONE 255

/* The ends of a trial. Where both are on this machine, one set of programs watches both. */
enum end_number {
	LISTENING = 0,
	CONNECTING = 1,
	ENDS = 2,
};

/* Which connections of a side are watched, and where what is seen of them goes. Each side's reader
 * writes its own, at any time. Where sockets are chosen, one reader writes both alike.
 */
struct end {
	__u32 netns;             /* inode number of the network namespace; `SEVERAL_NAMESPACES` where sockets are chosen */
	__u16 port;              /* the listening end's port, 1 where sockets are chosen; 0: nothing is watched */
	__u16 unused;
	__u32 connections_first; /* first of its part of the map `connections` */
	__u32 logs_first;        /* first of its part of the map `logs` */
	__u32 connections_count; /* the programs' own: slots in use */
	__u32 process;           /* the programs' own: the number of the process that calls, once one has */
	__u64 connections_refused;
	__u64 namespace_device;  /* of the agent's PID namespace, as stat(2) has it */
	__u64 namespace_inode;
	__u32 agent;             /* the agent's number in that namespace; 0: the load's threads are not known */
	__u32 unused_too;
};

/* A thread of the load of an end, in the map `load_threads`; where sockets are chosen, a process that has some, under
 * `LISTENING`, and under `CONNECTING` one whose sockets are chosen at their SYN.
 */
struct load_thread {
	__u32 end;    /* of `enum end_number` */
	__u32 thread; /* its number in the PID namespace of the end's agent */
};

/* A socket, by what the headers of its packets say of it, too: the key of the map `chosen_sockets`. An address of IPv4 is
 * mapped to IPv6 (RFC 4291 section 2.5.5.2).
 */
struct tuple {
	__u32 local[4];    /* address, in network byte order */
	__u32 remote[4];
	__u32 netns;       /* inode number of the network namespace */
	__u16 local_port;
	__u16 remote_port;
};

/* A place for a socket that programs choose themselves, at its SYN. */
struct pick {
	struct tuple socket;
	__u32 number;      /* the reader's offer: what the socket is numbered */
	__u32 which;       /* of `watched_t`, what stands for the socket; 0: none was chosen after all */
	__u32 taken;       /* how many were taken when it was, once all that is written */
	__u32 unused;
};

/* A segment in the log. */
struct record {
	__u64 mono_ns;             /* CLOCK_MONOTONIC in ns */
	__u64 pacing_rate;         /* bytes a second; the largest value means none */
	__u32 sequence;            /* sequence number of the header */
	__u32 acknowledgment;      /* acknowledgment number of the header */
	__u32 payload_bytes;       /* payload in bytes */
	__u32 window_bytes;        /* window announced, scaled, in bytes */
	__u32 unacked_bytes;       /* own bytes outstanding */
	__u32 unsent_bytes;        /* own bytes written and not sent */
	__u32 cwnd;                /* congestion window in segments */
	__u32 ssthresh;            /* slow-start threshold in segments */
	__u32 srtt;                /* smoothed round-trip time in eighths of a microsecond */
	__u32 send_window_bytes;   /* window the peer last announced, in bytes */
	__u32 receive_queue_bytes; /* received in sequence and not read, in bytes */
	__u16 window_field;        /* window of the header, not scaled */
	__u16 port;                /* port of the connecting end, or number of the chosen socket: identifies the connection */
	__u16 gso_size;            /* payload of each wire segment, 0 in a single one */
	__u16 wire_segments;       /* segments on the wire */
	__u8 direction;            /* of `enum direction` */
	__u8 flags;                /* flags of the header */
	__u8 context;              /* of `enum context`, as in `schema::table::Context` */
	__u8 ksoftirqd;            /* whether that ran in ksoftirqd */
	__u8 retransmission;       /* of `enum retransmission`, as in `schema::table::Retransmission`, or `NONE` */
	__u8 reason;               /* of `enum ack_reason`, as in `schema::table::AckReason`, or `NONE` */
	__u8 has_state;            /* whether the fields of the socket are there */
	__u8 unused[5];
};

/* A call in the log of calls: durations of the call, then of its thread between its last call and this
 * one.
 */
struct call {
	__u64 start_ns;           /* when it began, on CLOCK_MONOTONIC in ns; 0: not known, and then no duration is */
	__u64 end_ns;             /* when it ended */
	__u64 asleep_ns;          /* asleep */
	__u64 runnable_ns;        /* runnable and not running */
	__u64 softirq_ns;         /* softirqs on top of it */
	__u64 asleep_before_ns;   /* asleep before it */
	__u64 runnable_before_ns; /* runnable and not running before it */
	__u64 softirq_before_ns;  /* softirqs on top of the thread before it */
	__u32 moved_bytes;        /* payload */
	__u32 thread;             /* number of the thread */
	__u16 port;               /* port of the connecting end, or number of the chosen socket: identifies the connection */
	__u8 kind;                /* of `enum call_kind`, as in `schema::table::CallKind` */
	__u8 outcome;             /* of `enum outcome`, as in `schema::table::CallOutcome` */
	__u32 unused;
};

/* Head of an end's log of one CPU, filled by that CPU alone; its records or calls follow. Head and tail
 * count them since the start.
 */
struct log_head {
	__u64 head;      /* written by the programs */
	__u64 lost;      /* records for which there was no room */
	__u64 pad1[6];
	__u64 tail;      /* written by the reader */
	__u64 pad2[7];
};

/* Count and bytes of a size class. */
struct sized {
	__u64 count;     /* how many */
	__u64 bytes;     /* their bytes together */
};

/* The counts of what left. */
struct out {
	__u64 sock;
	__u32 port;                      /* the connecting end's port, or the chosen socket's number */
	__u32 last_acknowledgment;
	__u32 has_acknowledged;
	__u32 fin;                       /* whether a FIN has left */
	__u64 data_packets;              /* sent with payload */
	__u64 data_segments;             /* the same as wire segments */
	__u64 data_bytes;                /* payload */
	__u64 retransmitted_packets;     /* retransmissions among them */
	__u64 ksoftirqd_packets;         /* sent in ksoftirqd among them */
	__u64 by_context[CONTEXTS];      /* data sent, by context */
	__u64 by_reason[ACK_REASONS];    /* pure ACKs sent, by reason */
	__u64 pad;                       /* what follows begins with a cache line */
	struct sized sizes[SIZE_CLASSES]; /* data sent, by size */
};

/* The counts of what arrived. */
struct arrived {
	__u32 next;
	__u32 has_next;
	__u32 fin;                       /* whether a FIN has arrived */
	__u32 fin_next;
	__u32 last_acknowledgment;
	__u32 last_window;
	__u64 data_packets;              /* arrived with payload */
	__u64 data_segments;             /* the same as wire segments */
	__u64 data_bytes;                /* payload */
	__u64 acks;                      /* pure ACKs */
	__u64 duplicate_acks;            /* duplicate ACKs among them */
	__u64 out_of_order_packets;      /* data that was not the next in sequence */
	__u64 pad;                       /* none of what follows is in two cache lines */
	struct sized sizes[SIZE_CLASSES]; /* data, by size */
};

/* The state of a read call: whether it has ended, and how far it had read by then. */
struct reading {
	__u32 has_read;
	__u32 copied_seq;
};

/* What is known and counted of one connection, in as few cache lines a segment as can be. Each part has one writer at a time: `out` under the
 * socket's lock, `arrived` in the receive softirq, `reading` and the calls in the application's thread.
 */
struct connection {
	struct out out;                    /* what left */
	struct arrived arrived;            /* what arrived */
	struct reading reading;
	__u64 unused;
	struct sized writes[SIZE_CLASSES]; /* write calls by bytes moved */
	struct sized reads[SIZE_CLASSES];  /* read calls by bytes moved */
	__u64 pad[4];                      /* whole cache lines */
};

/* Time of one vector. */
struct vector {
	__u64 runs;             /* how often its handler ended */
	__u64 ns;               /* time in it, in ns */
	__u64 on_load_ns[ENDS]; /* of that, on top of threads of the load of each side */
};

/* Bits of `runner_bits` in addition to those of `enum end_number`, each of which marks a thread of the load of that end. */
#define RUNS_KERNEL (1 << ENDS)          /* a thread of the kernel, or the idle task */
#define RUNS_KSOFTIRQD (1 << (ENDS + 1)) /* ksoftirqd */

/* Softirqs of one CPU, written by that CPU alone but for two fields. A softirq uses one cache line of it and its vector's.
 */
struct cpu {
	__u64 entered_ns;
	__u64 runner;                   /* the thread that ran when it was looked up last, as of bpf_get_current_pid_tgid */
	__u32 runner_bits;              /* what it is */
	__u32 runner_changes;           /* `changes` when it was looked up */
	__u32 changes;                  /* counted up by each side's reader after it has changed what is of its load */
	__u32 running;                  /* vector + 1; 0: no softirq runs */
	__u16 is_timed[ENDS];           /* set by each side's reader: whether its softirqs' time is taken */
	__u32 unused[7];
	struct vector vectors[VECTORS]; /* by number of the vector */
};

/* Values that are fixed when the object is loaded; all there is in .rodata. */
struct constants {
	__u32 log_mask;          /* slots of a CPU's log - 1; 0: no log */
	__u32 calls_mask;        /* the same of its log of calls */
	__u32 connections_most;  /* an end's slots of the map `connections` */
};

/* Values that the reader sets and sees without a system call; all there is in .bss. */
struct control {
	struct end ends[ENDS];
	__u16 slot_of_port[ENDS * PORTS];   /* slot + 1 among the end's; 0: none. Of a chosen socket, by its number */
	__u64 chosen_bits[PORTS / 64];      /* by the exclusive or of a socket's ports: whether one is chosen */
	__u64 process_bits[PROCESS_WORDS];  /* by the lowest bits of its number: whether a process has chosen sockets */
	__u64 armed_bits[PORTS / 64];       /* by port: whether connections with it are chosen at their SYN */
	__u64 opener_bits[PROCESS_WORDS];   /* as `process_bits`, of processes whose connections are */
	__u32 picks_offered;                /* places that the reader has offered until now */
	__u32 picks_taken;                  /* the programs' own: of these, taken */
	struct pick picks[PICKS];           /* place n is the one of n modulo their number */
};
