/* What the probe's programs and its reader share: the configuration, the log and the counters.
 * The reader's side is ../layout.rs; the sizes in `struct constants` hold them together.
 */
#pragma once

#include "kernel.h"

#define PORTS 65536
#define SIZE_CLASSES 24
#define VECTORS 16     /* 10 in use; a power of two, so that a verifier sees the bound */

enum direction {
	OUT = 0,
	IN = 1,
};

enum context {
	PROCESS = 0,
	NET_RX = 1,
	TIMER = 2,
	HRTIMER = 3,
	WORKER = 4,
	OTHER_CONTEXT = 5,
	CONTEXTS = 6,
};

enum ack_reason {
	DELAYED_TIMER = 0,
	READ_CALL = 1,
	SECOND_SEGMENT = 2,
	QUICK = 3,
	OUT_OF_ORDER = 4,
	WINDOW_PROBE = 5,
	FIN_ACK = 6,
	HANDSHAKE = 7,
	OTHER_REASON = 8,
	ACK_REASONS = 9,
};

enum retransmission {
	TIMEOUT = 0,
	FAST = 1,
	LOSS_PROBE = 2,
	OTHER_RETRANSMISSION = 3,
	RETRANSMISSIONS = 4,
};

enum call_kind {
	WRITE = 0,
	READ = 1,
};

enum outcome {
	DONE = 0,
	WOULD_BLOCK = 1,
	FAILED = 2,
};

/* In `reason` and `retransmission` of a record: none. */
#define NONE 255

/* The ends of a trial. Where both are on this machine, one set of programs watches both. */
enum end_number {
	LISTENING = 0,
	CONNECTING = 1,
	ENDS = 2,
};

/* Which connections of an end are watched, and where what is seen of them goes. Each end's reader
 * writes its own, at any time.
 */
struct end {
	__u32 netns;             /* inode number of the network namespace */
	__u16 port;              /* the listening end's port; 0: nothing is watched */
	__u16 unused;
	__u32 connections_first; /* its part of the map `connections`, */
	__u32 logs_first;        /* and of the map `logs` */
	__u32 connections_count; /* these two are the programs' */
	__u32 process;           /* the number of the process that calls, once one has */
	__u64 connections_refused;
};

/* A segment in the log. */
struct record {
	__u64 mono_ns;
	__u64 pacing_rate;
	__u32 sequence;
	__u32 acknowledgment;
	__u32 payload_bytes;
	__u32 window_bytes;
	__u32 unacked_bytes;
	__u32 unsent_bytes;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 srtt;      /* in eighths of a microsecond */
	__u32 send_window_bytes;
	__u32 receive_queue_bytes;
	__u16 window_field;
	__u16 port;      /* of the connecting end: tells the connection */
	__u16 gso_size;
	__u16 wire_segments;
	__u8 direction;
	__u8 flags;
	__u8 context;
	__u8 ksoftirqd;
	__u8 retransmission;
	__u8 reason;
	__u8 has_state;
	__u8 unused[5];
};

/* A call in the log of calls. The durations are those of the call, then those of its thread between its
 * last call and this one.
 */
struct call {
	__u64 start_ns;      /* 0: not known, and then no duration is */
	__u64 end_ns;
	__u64 asleep_ns;
	__u64 runnable_ns;
	__u64 softirq_ns;
	__u64 asleep_before_ns;
	__u64 runnable_before_ns;
	__u64 softirq_before_ns;
	__u32 moved_bytes;
	__u32 thread;
	__u16 port;      /* of the connecting end: tells the connection */
	__u8 kind;
	__u8 outcome;
	__u32 unused;
};

/* An end's log of one CPU, filled by that CPU alone. Head and tail count records since the start. */
struct log {
	__u64 head;      /* written by the programs */
	__u64 lost;
	__u64 pad1[6];
	__u64 tail;      /* written by the reader */
	__u64 pad2[7];
	/* records or calls */
};

struct sized {
	__u64 count;
	__u64 bytes;
};

/* What is known and counted of one connection. Each part has one writer at a time: `out` under the
 * socket's lock, `in` in the receive softirq, `processed` under the socket's lock, `reading` and
 * `calls` in the application's thread.
 */
struct connection {
	struct {
		__u64 sock;
		__u32 port;
		__u32 last_acknowledgment;
		__u32 has_acknowledged;
		__u32 fin;
		__u64 data_packets;
		__u64 data_segments;
		__u64 data_bytes;
		__u64 retransmitted_packets;
		__u64 ksoftirqd_packets;
		__u64 by_context[CONTEXTS];
		__u64 by_reason[ACK_REASONS];
		struct sized sizes[SIZE_CLASSES];
	} out;
	struct {
		__u32 next;
		__u32 has_next;
		__u32 fin;
		__u32 fin_next;
		__u32 last_acknowledgment;
		__u32 last_window;
		__u64 data_packets;
		__u64 data_segments;
		__u64 data_bytes;
		__u64 acks;
		__u64 duplicate_acks;
		__u64 out_of_order_packets;
		struct sized sizes[SIZE_CLASSES];
	} in;
	struct {
		__u32 in_process;   /* whether an arrival was processed in a process */
		__u32 copied_seq;   /* read by then; has moved on once a read call sends */
	} processed;
	struct {
		__u32 has_read;     /* whether a read call has ended */
		__u32 copied_seq;   /* read by then */
	} reading;
	struct {
		struct sized writes[SIZE_CLASSES];
		struct sized reads[SIZE_CLASSES];
	} calls;
};

struct vector {
	__u64 runs;
	__u64 ns;
};

/* Of one CPU, written by that CPU alone but for one field. */
struct cpu {
	__u64 entered_ns;
	__u32 running;      /* vector + 1; 0: no softirq runs */
	__u16 is_timed[ENDS]; /* set by each end's reader: whether its softirqs' time is taken */
	struct vector vectors[VECTORS];
	__u64 pad[6];         /* no two CPUs write to one cache line */
};

/* What is fixed when the object is loaded; all there is in .rodata. */
struct constants {
	__u32 log_mask;          /* slots of a CPU's log - 1; 0: no log */
	__u32 calls_mask;        /* the same of its log of calls */
	__u32 connections_most;  /* an end's slots of the map `connections` */
	__u32 record_bytes;      /* sizes, for the reader to compare */
	__u32 call_bytes;
	__u32 log_bytes;
	__u32 connection_bytes;
	__u32 cpu_bytes;
	__u32 control_bytes;
};

/* What the reader sets and sees without a system call; all there is in .bss. */
struct control {
	struct end ends[ENDS];
	__u16 slot_of_port[ENDS * PORTS];   /* slot + 1 among the end's; 0: none */
};
