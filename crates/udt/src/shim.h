/* A C interface to what whyperf uses of the UDT library, and of SRT, which grew out of it: a table of
 * functions each. All are safe to call from any thread; whatever fails returns -1 and leaves its
 * reason to `error` of the same thread. */
#ifndef WHYPERF_UDT_SHIM_H
#define WHYPERF_UDT_SHIM_H

#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

enum shim_option {
    SHIM_MSS,
    SHIM_FLIGHT_PACKETS,
    SHIM_SEND_BUFFER,
    SHIM_RECEIVE_BUFFER,
    SHIM_SEND_TIMEOUT,
    SHIM_RECEIVE_TIMEOUT,
    SHIM_IS_BLOCKING
};

enum shim_state { SHIM_CONNECTING, SHIM_CONNECTED, SHIM_BROKEN };

/* What a library reports about a connection. */
struct shim_facts {
    int64_t sent_packets;
    int64_t received_packets;
    int64_t lost_packets;
    int64_t missed_packets;
    int64_t retransmitted_packets;
    int64_t acks_sent;
    int64_t acks_received;
    int64_t naks_sent;
    int64_t naks_received;
    double sending_period_us;
    double rtt_ms;
    double capacity_mbps;
    int64_t window_packets;
    int64_t cwnd_packets;
    int64_t flight_packets;
    int64_t unacknowledged_packets;
};

struct shim {
    int (*startup)(void);
    int (*open)(int family);
    int (*set)(int socket, int option, int value);
    int (*get)(int socket, int option, int *value);
    /* To a UDP socket of this descriptor, which the library closes. */
    int (*bind)(int socket, int descriptor);
    int (*listen)(int socket, int backlog);
    int (*accept)(int socket);
    int (*connect)(int socket, const struct sockaddr *address, int length);
    int (*state_of)(int socket);
    int (*local)(int socket, struct sockaddr *address, int *length);
    int (*remote)(int socket, struct sockaddr *address, int *length);
    int (*send)(int socket, const char *bytes, int length);
    int (*receive)(int socket, char *bytes, int length);
    int (*facts_of)(int socket, struct shim_facts *facts);
    void (*close)(int socket);
    /* The library's number of the last error of this thread, and its text. */
    int (*error)(char *text, int length);
};

extern const struct shim udt_shim;
extern const struct shim srt_shim;

#ifdef __cplusplus
}
#endif
#endif
