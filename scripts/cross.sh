# Where the tools for aarch64 lie that scripts/cross brings. Sourced, in the source tree's top folder.
# shellcheck shell=bash
# shellcheck disable=SC2034  # read by the scripts that source this

CROSS_TARGET=aarch64-unknown-linux-gnu
CROSS_PREFIX=aarch64-linux-gnu
CROSS_FOLDER=.tools/aarch64

# Prints the Rust compiler that has the target.
cross_rustc() {
    local own=$PWD/$CROSS_FOLDER/rust/rustc
    if [ -d "$CROSS_FOLDER/rust" ]; then
        # Its shared libraries lie next to it, not where the system looks.
        [ -e "$own" ] || {
            printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' \
                "$PWD/$CROSS_FOLDER/rust/usr/lib/x86_64-linux-gnu:$PWD/$CROSS_FOLDER/rust/usr/lib" "$PWD/$CROSS_FOLDER/rust/usr/bin/rustc" >"$own"
            chmod +x "$own"
        }
        echo "$own"
    else
        command -v rustc
    fi
}
