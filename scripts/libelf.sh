# What a static link with libelf needs in addition to libelf.a, which differs with its version. Sourced.
# shellcheck shell=bash

# libelf_arguments TARGET
# Prints the linker arguments to be added, one a line, often none; fails when no static link works. CC names the
# compiler, PKG_CONFIG_LIBDIR where its libraries are described. Run it in the source tree's top folder.
libelf_arguments() {
    local -a libraries
    local search=target/libelf-search-$1.o
    have "${CC:-cc}" && have pkg-config || return 1
    read -ra libraries < <(pkg-config --static --libs-only-l libelf 2>/dev/null) || return 1
    if ! links_libelf "${libraries[@]}"; then
        mkdir -p "$(dirname "$search")"
        "${CC:-cc}" -O2 -c scripts/libelf_search.c -o "$search" || return 1
        links_libelf "$search" "${libraries[@]}" || return 1
        echo "$search"
    fi
    # libelf and zlib themselves are named by the crate that wants them. rustc puts these arguments
    # behind -Bdynamic: an archive has to be named as such.
    printf '%s\n' "${libraries[@]}" | sed -n '/^-l\(elf\|z\)$/d; s/^-l\(.*\)/-l:lib\1.a/p'
}

# links_libelf ARGUMENT...
links_libelf() {
    local out status=0
    out=$(mktemp)
    echo '#include <libelf.h>
int main(void) { return elf_begin(0, ELF_C_NULL, 0) != 0; }' | "${CC:-cc}" -static -x c - -x none -o "$out" "$@" 2>/dev/null || status=1
    rm -f "$out"
    return $status
}
