# How the setup scripts speak: one clear sentence on standard error. Sourced.
# shellcheck shell=bash

say() {
    printf '== %s\n' "$*" >&2
}

warn() {
    printf 'warning: %s\n' "$*" >&2
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}
