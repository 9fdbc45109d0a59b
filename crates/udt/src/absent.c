/* Stands in for shim.cpp where the library is missing: nothing works, and nobody gets this far. */
#include "shim.h"

int udt_shim_startup(void) { return -1; }
int udt_shim_open(int family) { return -1; }
int udt_shim_set(int socket, int option, int value) { return -1; }
int udt_shim_get(int socket, int option, int *value) { return -1; }
int udt_shim_bind(int socket, const struct sockaddr *address, int length) { return -1; }
int udt_shim_listen(int socket, int backlog) { return -1; }
int udt_shim_accept(int socket) { return -1; }
int udt_shim_connect(int socket, const struct sockaddr *address, int length) { return -1; }
int udt_shim_state_of(int socket) { return UDT_SHIM_BROKEN; }
int udt_shim_local(int socket, struct sockaddr *address, int *length) { return -1; }
int udt_shim_remote(int socket, struct sockaddr *address, int *length) { return -1; }
int udt_shim_send(int socket, const char *bytes, int length) { return -1; }
int udt_shim_receive(int socket, char *bytes, int length) { return -1; }
int udt_shim_facts_of(int socket, struct udt_shim_facts *facts) { return -1; }
void udt_shim_close(int socket) {}
int udt_shim_error(char *text, int length) { return -1; }
