/* A C interface to what whyperf uses of the UDT library. All functions are safe to call from any
 * thread; whatever fails returns -1 and leaves its reason to udt_shim_error of the same thread. */
#ifndef WHYPERF_UDT_SHIM_H
#define WHYPERF_UDT_SHIM_H

#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

enum udt_shim_option {
    UDT_SHIM_MSS,
    UDT_SHIM_FLIGHT_PACKETS,
    UDT_SHIM_SEND_BUFFER,
    UDT_SHIM_RECEIVE_BUFFER,
    UDT_SHIM_UDP_SEND_BUFFER,
    UDT_SHIM_UDP_RECEIVE_BUFFER,
    UDT_SHIM_SEND_TIMEOUT,
    UDT_SHIM_RECEIVE_TIMEOUT,
    UDT_SHIM_IS_BLOCKING
};

enum udt_shim_state { UDT_SHIM_CONNECTING, UDT_SHIM_CONNECTED, UDT_SHIM_BROKEN };

/* What the library tells of a connection. */
struct udt_shim_facts {
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

int udt_shim_startup(void);
int udt_shim_open(int family);
int udt_shim_set(int socket, int option, int value);
int udt_shim_get(int socket, int option, int *value);
int udt_shim_bind(int socket, const struct sockaddr *address, int length);
int udt_shim_listen(int socket, int backlog);
int udt_shim_accept(int socket);
int udt_shim_connect(int socket, const struct sockaddr *address, int length);
int udt_shim_state_of(int socket);
int udt_shim_local(int socket, struct sockaddr *address, int *length);
int udt_shim_remote(int socket, struct sockaddr *address, int *length);
int udt_shim_send(int socket, const char *bytes, int length);
int udt_shim_receive(int socket, char *bytes, int length);
int udt_shim_facts_of(int socket, struct udt_shim_facts *facts);
void udt_shim_close(int socket);

/* The library's number of the last error of this thread, and its text. */
int udt_shim_error(char *text, int length);

#ifdef __cplusplus
}
#endif
#endif
