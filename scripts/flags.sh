# How the agent is compiled and linked, for this host and for others. Sourced, in the source tree's top folder.
# shellcheck shell=bash

# export_flags TARGET: sets what cargo, rustc and the C compilers read.
#
# The binary is linked against a static C library, so that the copy pushed to another host runs there whatever its
# distribution. The flag must not reach the procedural macros, which are shared objects: cargo needs an explicit
# --target, which keeps it away from them. Where linking is static, libelf wants the libraries that it needs named.
# No path of this machine gets into the binary: two builds of the same sources are the same.
export_flags() {
    local target=$1 under=${1//-/_} argument arguments path map=""
    export RUSTFLAGS="${RUSTFLAGS-}"
    # The last one that fits counts.
    for path in "${CARGO_HOME:-$HOME/.cargo}/registry/src=/registry" "$PWD=/whyperf" "${CARGO_TARGET_DIR:-$PWD/target}=/target"; do
        # Flags are separated by spaces: a path with one stays in the binary.
        case $path in *[[:space:]]*) continue ;; esac
        RUSTFLAGS+=" --remap-path-prefix=$path"
        map+=" -ffile-prefix-map=$path"
    done
    export "CFLAGS_$under=${map# }" "CXXFLAGS_$under=${map# }"
    # A panic ends the agent, so nothing unwinds: tables for that would be 1 MB.
    RUSTFLAGS+=" -C force-unwind-tables=no"
    # Sampled stacks of the load show who called whom only with frame pointers.
    RUSTFLAGS+=" -C force-frame-pointers=yes"
    case $target in *-linux-gnu) ;; *) return 0 ;; esac
    RUSTFLAGS+=" -C target-feature=+crt-static"
    arguments=$(libelf_arguments "$target") ||
        die "${CC:-cc} cannot link libelf and zlib statically; scripts/prerequisites says what to install"
    for argument in $arguments; do
        RUSTFLAGS+=" -C link-arg=$argument"
    done
    if packs_relocations "$target"; then
        RUSTFLAGS+=" -C link-arg=-Wl,-z,pack-relative-relocs"
    fi
}

# packs_relocations TARGET: whether the linker and the static C library know packed relocations (glibc 2.36), which are
# 1 MB smaller. Where programs of the target do not run here, nothing shows whether they would start.
packs_relocations() {
    local out status=0
    case $1 in "$(uname -m)"-*) ;; *) return 1 ;; esac
    out=$(mktemp)
    echo 'int main(void) { return 0; } int (*pointer)(void) = main;' |
        cc -static-pie -x c - -o "$out" -Wl,-z,pack-relative-relocs 2>/dev/null && "$out" || status=1
    rm -f "$out"
    return $status
}

# export_cross_flags: the same for aarch64, with the tools that scripts/cross brings.
export_cross_flags() {
    local under=${CROSS_TARGET//-/_} bin=$PWD/$CROSS_FOLDER/bin/$CROSS_PREFIX
    RUSTC=$(cross_rustc)
    export RUSTC
    export "CC_$under=$bin-gcc" "CXX_$under=$bin-g++" "AR_$under=$CROSS_PREFIX-ar"
    export "NM_$under=$CROSS_PREFIX-nm" "OBJCOPY_$under=$CROSS_PREFIX-objcopy"
    local linker=CARGO_TARGET_${under^^}_LINKER
    export "$linker=$bin-gcc"
    CC=$bin-gcc PKG_CONFIG_LIBDIR=$PWD/$CROSS_FOLDER/libraries/usr/lib/$CROSS_PREFIX/pkgconfig export_flags "$CROSS_TARGET"
}
