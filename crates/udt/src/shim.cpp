// The UDT library behind a C interface: no exception and no C++ type passes it.
#include "shim.h"

#include <udt/udt.h>

#include <cstdio>
#include <cstring>

namespace {

struct Option {
    UDT::SOCKOPT option;
    bool is_boolean;
};

// In the order of udt_shim_option.
const Option OPTIONS[] = {
    {UDT_MSS, false},    {UDT_FC, false},     {UDT_SNDBUF, false},   {UDT_RCVBUF, false},  {UDP_SNDBUF, false},
    {UDP_RCVBUF, false}, {UDT_SNDTIMEO, false}, {UDT_RCVTIMEO, false}, {UDT_RCVSYN, true},
};

// Seconds that a close waits for what is unsent: none, both ends agree on the count before.
int no_linger(UDTSOCKET socket) {
    struct linger off = {0, 0};
    return UDT::setsockopt(socket, 0, UDT_LINGER, &off, sizeof off);
}

} // namespace

int udt_shim_startup(void) { return UDT::startup(); }

int udt_shim_open(int family) {
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

int udt_shim_set(int socket, int option, int value) {
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

int udt_shim_get(int socket, int option, int *value) {
    int length = sizeof *value;
    return UDT::getsockopt(socket, 0, OPTIONS[option].option, value, &length);
}

int udt_shim_bind(int socket, const struct sockaddr *address, int length) { return UDT::bind(socket, address, length); }

int udt_shim_listen(int socket, int backlog) { return UDT::listen(socket, backlog); }

int udt_shim_accept(int socket) {
    struct sockaddr_storage address;
    int length = sizeof address;
    UDTSOCKET accepted = UDT::accept(socket, reinterpret_cast<struct sockaddr *>(&address), &length);
    return accepted == UDT::INVALID_SOCK ? -1 : accepted;
}

int udt_shim_connect(int socket, const struct sockaddr *address, int length) {
    return UDT::connect(socket, address, length);
}

int udt_shim_state_of(int socket) {
    switch (UDT::getsockstate(socket)) {
    case INIT:
    case OPENED:
    case LISTENING:
    case CONNECTING:
        return UDT_SHIM_CONNECTING;
    case CONNECTED:
        return UDT_SHIM_CONNECTED;
    default:
        return UDT_SHIM_BROKEN;
    }
}

int udt_shim_local(int socket, struct sockaddr *address, int *length) { return UDT::getsockname(socket, address, length); }

int udt_shim_remote(int socket, struct sockaddr *address, int *length) { return UDT::getpeername(socket, address, length); }

int udt_shim_send(int socket, const char *bytes, int length) { return UDT::send(socket, bytes, length, 0); }

int udt_shim_receive(int socket, char *bytes, int length) { return UDT::recv(socket, bytes, length, 0); }

int udt_shim_facts_of(int socket, struct udt_shim_facts *facts) {
    UDT::TRACEINFO told;
    if (UDT::perfmon(socket, &told, false) == UDT::ERROR) {
        return -1;
    }
    int unacknowledged = 0;
    int length = sizeof unacknowledged;
    UDT::getsockopt(socket, 0, UDT_SNDDATA, &unacknowledged, &length);
    facts->sent_packets = told.pktSentTotal;
    facts->received_packets = told.pktRecvTotal;
    facts->lost_packets = told.pktSndLossTotal;
    facts->missed_packets = told.pktRcvLossTotal;
    facts->retransmitted_packets = told.pktRetransTotal;
    facts->acks_sent = told.pktSentACKTotal;
    facts->acks_received = told.pktRecvACKTotal;
    facts->naks_sent = told.pktSentNAKTotal;
    facts->naks_received = told.pktRecvNAKTotal;
    facts->sending_period_us = told.usPktSndPeriod;
    facts->rtt_ms = told.msRTT;
    facts->capacity_mbps = told.mbpsBandwidth;
    facts->window_packets = told.pktFlowWindow;
    facts->cwnd_packets = told.pktCongestionWindow;
    facts->flight_packets = told.pktFlightSize;
    facts->unacknowledged_packets = unacknowledged;
    return 0;
}

void udt_shim_close(int socket) { UDT::close(socket); }

int udt_shim_error(char *text, int length) {
    UDT::ERRORINFO &error = UDT::getlasterror();
    snprintf(text, static_cast<size_t>(length), "%s", error.getErrorMessage());
    return error.getErrorCode();
}
