// The UDT library behind the shim: no exception and no C++ type passes it.
#include "shim.h"

#include <udt/udt.h>

#include <cstdio>
#include <cstring>

// Constructs the library's static objects (build.rs).
extern "C" void whyperf_construct_udt(void);

namespace {

struct Option {
    UDT::SOCKOPT option;
    bool is_boolean;
};

// In the order of shim_option.
const Option OPTIONS[] = {
    {UDT_MSS, false},      {UDT_FC, false},       {UDT_SNDBUF, false}, {UDT_RCVBUF, false},
    {UDT_SNDTIMEO, false}, {UDT_RCVTIMEO, false}, {UDT_RCVSYN, true},
};

// Seconds that a close waits for what is unsent: none, both hosts agree on the count before.
int no_linger(UDTSOCKET socket) {
    struct linger off = {0, 0};
    return UDT::setsockopt(socket, 0, UDT_LINGER, &off, sizeof off);
}

int startup(void) {
    whyperf_construct_udt();
    return UDT::startup();
}

int open_socket(int family) {
    UDTSOCKET socket = UDT::socket(family, SOCK_STREAM, 0);
    if (socket == UDT::INVALID_SOCK) {
        return -1;
    }
    if (no_linger(socket) == UDT::ERROR) {
        UDT::close(socket);
        return -1;
    }
    return socket;
}

int set(int socket, int option, int value) {
    const Option &known = OPTIONS[option];
    if (!known.is_boolean) {
        return UDT::setsockopt(socket, 0, known.option, &value, sizeof value);
    }
    bool flag = value != 0;
    if (UDT::setsockopt(socket, 0, UDT_SNDSYN, &flag, sizeof flag) == UDT::ERROR) {
        return -1;
    }
    return UDT::setsockopt(socket, 0, UDT_RCVSYN, &flag, sizeof flag);
}

int get(int socket, int option, int *value) {
    int length = sizeof *value;
    return UDT::getsockopt(socket, 0, OPTIONS[option].option, value, &length);
}

int bind_socket(int socket, int descriptor) { return UDT::bind2(socket, descriptor); }

int listen_at(int socket, int backlog) { return UDT::listen(socket, backlog); }

int accept_socket(int socket) {
    struct sockaddr_storage address;
    int length = sizeof address;
    UDTSOCKET accepted = UDT::accept(socket, reinterpret_cast<struct sockaddr *>(&address), &length);
    return accepted == UDT::INVALID_SOCK ? -1 : accepted;
}

int connect_socket(int socket, const struct sockaddr *address, int length) {
    return UDT::connect(socket, address, length);
}

int state_of(int socket) {
    switch (UDT::getsockstate(socket)) {
    case INIT:
    case OPENED:
    case LISTENING:
    case CONNECTING:
        return SHIM_CONNECTING;
    case CONNECTED:
        return SHIM_CONNECTED;
    default:
        return SHIM_BROKEN;
    }
}

int local_of(int socket, struct sockaddr *address, int *length) { return UDT::getsockname(socket, address, length); }

int remote_of(int socket, struct sockaddr *address, int *length) { return UDT::getpeername(socket, address, length); }

int send_bytes(int socket, const char *bytes, int length) { return UDT::send(socket, bytes, length, 0); }

int receive_bytes(int socket, char *bytes, int length) { return UDT::recv(socket, bytes, length, 0); }

int facts_of(int socket, struct shim_facts *facts) {
    UDT::TRACEINFO counted;
    if (UDT::perfmon(socket, &counted, false) == UDT::ERROR) {
        return -1;
    }
    int unacknowledged = 0;
    int length = sizeof unacknowledged;
    UDT::getsockopt(socket, 0, UDT_SNDDATA, &unacknowledged, &length);
    facts->sent_packets = counted.pktSentTotal;
    facts->received_packets = counted.pktRecvTotal;
    facts->lost_packets = counted.pktSndLossTotal;
    facts->missed_packets = counted.pktRcvLossTotal;
    facts->retransmitted_packets = counted.pktRetransTotal;
    facts->acks_sent = counted.pktSentACKTotal;
    facts->acks_received = counted.pktRecvACKTotal;
    facts->naks_sent = counted.pktSentNAKTotal;
    facts->naks_received = counted.pktRecvNAKTotal;
    facts->sending_period_us = counted.usPktSndPeriod;
    facts->rtt_ms = counted.msRTT;
    facts->capacity_mbps = counted.mbpsBandwidth;
    facts->window_packets = counted.pktFlowWindow;
    facts->cwnd_packets = counted.pktCongestionWindow;
    facts->flight_packets = counted.pktFlightSize;
    facts->unacknowledged_packets = unacknowledged;
    return 0;
}

void close_socket(int socket) { UDT::close(socket); }

int last_error(char *text, int length) {
    UDT::ERRORINFO &error = UDT::getlasterror();
    snprintf(text, static_cast<size_t>(length), "%s", error.getErrorMessage());
    return error.getErrorCode();
}

} // namespace

// In the order of struct shim.
extern const struct shim udt_shim = {
    startup,  open_socket, set,       get,        bind_socket,   listen_at, accept_socket, connect_socket,
    state_of, local_of,    remote_of, send_bytes, receive_bytes, facts_of,  close_socket,  last_error,
};
