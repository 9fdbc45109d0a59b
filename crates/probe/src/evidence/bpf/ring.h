/* How programs write records into memory that a reader shares: one writer a ring. */
#pragma once

#include "layout.h"
#include <bpf/bpf_helpers.h>

/* A free record, or NULL when there is no space; that is counted. */
static __always_inline void *next_record(struct log_head *log, __u32 mask, __u64 record_bytes)
{
	__u64 head = log->head;
	__u32 slot = head & mask;

	if (head - *(volatile __u64 *)&log->tail > mask) {
		log->lost += 1;
		return NULL;
	}
	return (void *)log + sizeof(struct log_head) + (__u64)slot * record_bytes;
}

/* The record is whole before it counts. x86 keeps the order of stores, and an atomic operation would
 * wait there for the record's cold memory; arm64 has an order only with an atomic operation whose
 * result is asked for.
 */
static __always_inline void commit_record(struct log_head *log)
{
#ifdef __TARGET_ARCH_arm64
	__u64 before = __sync_fetch_and_add(&log->head, 1);

	barrier_var(before);
#else
	barrier();
	*(volatile __u64 *)&log->head = log->head + 1;
#endif
}
