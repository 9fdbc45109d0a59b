# Installs Debian and Ubuntu packages, without questions and without starting services. Sourced.
# shellcheck shell=bash

# Prints the prefix that runs a command as root; fails when there is none.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        return 0
    elif have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        printf 'sudo'
    else
        return 1
    fi
}

# The command a person would type to install the packages named.
install_command() {
    if have apt-get; then
        if [ "$(id -u)" -eq 0 ]; then
            printf 'apt-get install %s' "$*"
        else
            printf 'sudo apt-get install %s' "$*"
        fi
    else
        printf "your distribution's equivalent of: apt-get install %s" "$*"
    fi
}

# A package that brings a server would start it. While this policy stands, none starts.
POLICY=/usr/sbin/policy-rc.d

hold_services() {
    [ -e "$POLICY" ] && return 0
    # Before the file is there: an interruption leaves none.
    # shellcheck disable=SC2064  # the prefix is to be expanded now
    trap "$1 rm -f '$POLICY'" EXIT
    printf '#!/bin/sh\nexit 101\n' | $1 tee "$POLICY" >/dev/null
    $1 chmod 755 "$POLICY"
}

release_services() {
    [ -n "$(trap -p EXIT)" ] || return 0
    $1 rm -f "$POLICY"
    trap - EXIT
}

# install_packages PACKAGE...  Fails, without a word, when this user cannot install.
install_packages() {
    local root
    have apt-get || return 1
    root=$(as_root) || return 1
    say "installing $*"
    hold_services "$root"
    $root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null || warn "apt-get update failed; trying with the package lists at hand"
    # A host's own upgrades may hold the lock for minutes.
    if ! $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 "$@" </dev/null >/dev/null; then
        release_services "$root"
        return 1
    fi
    release_services "$root"
}
