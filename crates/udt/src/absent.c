/* Stands in for a library that is missing: nothing works, and nobody gets this far. ABSENT is the
 * name of its table. */
#include "shim.h"

static int startup(void) { return -1; }
static int open_socket(int family) { return -1; }
static int set(int socket, int option, int value) { return -1; }
static int get(int socket, int option, int *value) { return -1; }
static int with_address(int socket, const struct sockaddr *address, int length) { return -1; }
static int listen_at(int socket, int backlog) { return -1; }
static int accept_socket(int socket) { return -1; }
static int state_of(int socket) { return SHIM_BROKEN; }
static int address_of(int socket, struct sockaddr *address, int *length) { return -1; }
static int send_bytes(int socket, const char *bytes, int length) { return -1; }
static int receive_bytes(int socket, char *bytes, int length) { return -1; }
static int facts_of(int socket, struct shim_facts *facts) { return -1; }
static void close_socket(int socket) {}
static int last_error(char *text, int length) { return -1; }

const struct shim ABSENT = {
    startup,  open_socket, set,        get,        with_address,  listen_at, accept_socket, with_address,
    state_of, address_of,  address_of, send_bytes, receive_bytes, facts_of,  close_socket,  last_error,
};
