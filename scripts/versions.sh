# Which versions are needed, and whether what is there is new enough. Sourced.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the minima are read by the scripts that source this

PYTHON_MINIMUM=3.11
# The first uv whose `pip sync` can require hashes and knows the lock's markers.
UV_MINIMUM=0.5.0
# Older ones make BPF programs that verifiers refuse.
CLANG_MINIMUM=18

# at_least WANTED FOUND
at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# Prints the path of the first Python that is new enough.
find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c "import sys; sys.exit(sys.version_info < (${PYTHON_MINIMUM/./, }))" 2>/dev/null; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

# Prints the path of the first uv that is new enough: one on PATH, or the one installed here.
find_uv() {
    local candidate
    for candidate in "$(command -v uv || true)" "$(dirname "${BASH_SOURCE[0]}")/../.tools/uv/bin/uv"; do
        if [ -n "$candidate" ] && at_least "$UV_MINIMUM" "$("$candidate" --version 2>/dev/null | awk '{print $2}')"; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

# Prints the path of the clang that crates/bpf-build takes: the one CLANG names, or the first
# new enough one on PATH.
find_clang() {
    local name
    local -a names=(clang clang-{30..18})
    [ -n "${CLANG-}" ] && names=("$CLANG")
    for name in "${names[@]}"; do
        if at_least "$CLANG_MINIMUM" "$("$name" -dumpversion 2>/dev/null || echo 0)"; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

# The package that brings a new enough clang. Debian 12's plain one is version 14.
clang_package() {
    if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
        echo clang-19
    else
        echo clang
    fi
}

# The oldest Rust the workspace states.
rust_minimum() {
    sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../Cargo.toml"
}
