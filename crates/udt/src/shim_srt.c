/* The SRT library behind the shim: streams, as its file transmission carries them. */
#include "shim.h"

#include <srt/srt.h>
#include <stdio.h>

/* In the order of shim_option; the last is two of them. */
static const SRT_SOCKOPT OPTIONS[] = {
    SRTO_MSS, SRTO_FC, SRTO_SNDBUF, SRTO_RCVBUF, SRTO_SNDTIMEO, SRTO_RCVTIMEO,
};

static int start(void) {
    /* Errors come back from the calls; nothing else is to be written. */
    srt_setloglevel(LOG_CRIT);
    return srt_startup() == SRT_ERROR ? -1 : 0;
}

static int set_flag(int socket, SRT_SOCKOPT option, int value) {
    return srt_setsockflag(socket, option, &value, sizeof value);
}

static int open_socket(int family) {
    (void)family; /* The address decides. */
    SRTSOCKET socket = srt_create_socket();
    if (socket == SRT_INVALID_SOCK) {
        return -1;
    }
    /* Whatever is sent arrives, and the window is what the congestion control says: SRTT_FILE. It would wait
     * three minutes for what is unsent at a close; both hosts agree on the count before. */
    struct linger off = {0, 0};
    if (set_flag(socket, SRTO_TRANSTYPE, SRTT_FILE) == SRT_ERROR ||
        srt_setsockflag(socket, SRTO_LINGER, &off, sizeof off) == SRT_ERROR) {
        srt_close(socket);
        return -1;
    }
    return socket;
}

static int set(int socket, int option, int value) {
    if (option != SHIM_IS_BLOCKING) {
        return set_flag(socket, OPTIONS[option], value);
    }
    if (set_flag(socket, SRTO_SNDSYN, value) == SRT_ERROR) {
        return -1;
    }
    return set_flag(socket, SRTO_RCVSYN, value);
}

static int get(int socket, int option, int *value) {
    int length = sizeof *value;
    return srt_getsockflag(socket, OPTIONS[option], value, &length);
}

static int bind_socket(int socket, int descriptor) { return srt_bind_acquire(socket, descriptor); }

static int accept_socket(int socket) {
    struct sockaddr_storage address;
    int length = sizeof address;
    SRTSOCKET accepted = srt_accept(socket, (struct sockaddr *)&address, &length);
    return accepted == SRT_INVALID_SOCK ? -1 : accepted;
}

static int connect_socket(int socket, const struct sockaddr *address, int length) {
    return srt_connect(socket, address, length);
}

static int state_of(int socket) {
    switch (srt_getsockstate(socket)) {
    case SRTS_INIT:
    case SRTS_OPENED:
    case SRTS_LISTENING:
    case SRTS_CONNECTING:
        return SHIM_CONNECTING;
    case SRTS_CONNECTED:
        return SHIM_CONNECTED;
    default:
        return SHIM_BROKEN;
    }
}

static int facts_of(int socket, struct shim_facts *facts) {
    SRT_TRACEBSTATS counted;
    if (srt_bistats(socket, &counted, 0, 1) == SRT_ERROR) {
        return -1;
    }
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
    facts->unacknowledged_packets = counted.pktSndBuf;
    return 0;
}

static void close_socket(int socket) { srt_close(socket); }

static int last_error(char *text, int length) {
    int code = srt_getlasterror(NULL);
    snprintf(text, (size_t)length, "%s", srt_getlasterror_str());
    return code;
}

const struct shim srt_shim = {
    .startup = start,
    .open = open_socket,
    .set = set,
    .get = get,
    .bind = bind_socket,
    .listen = srt_listen,
    .accept = accept_socket,
    .connect = connect_socket,
    .state_of = state_of,
    .local = srt_getsockname,
    .remote = srt_getpeername,
    .send = srt_send,
    .receive = srt_recv,
    .facts_of = facts_of,
    .close = close_socket,
    .error = last_error,
};
