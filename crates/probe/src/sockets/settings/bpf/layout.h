/* What the program that lists settings of sockets and its reader share.
 * The reader's side, ../layout.rs, is generated from this file by `make schemas`, comments included.
 */
#pragma once

#include <whyperf/types.h>

/* Bits of `buffer_locks`; include/net/sock.h. */
#define SEND_BUFFER_LOCK 1
#define RECEIVE_BUFFER_LOCK 2

/* Bit of `nagle`; include/net/tcp.h. */
#define NAGLE_OFF 1

/* The settings of a socket that a program has made. */
struct socket_settings {
	__u64 cookie;             /* the kernel's number of the socket */
	__u32 window_clamp_bytes; /* upper bound of the window that it announces */
	__u16 buffer_locks;       /* which buffers it has fixed */
	__u16 nagle;
};
