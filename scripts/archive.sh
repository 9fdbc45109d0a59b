# An apt apart from the system's: fetches and unpacks packages of an archive into a folder. Sourced.
# Its sources, lists and cache lie in the folder; apt checks every file by the archive's signature.
# shellcheck shell=bash

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# open_archive FOLDER ARCHITECTURE[,ARCHITECTURE] SOURCE...  Each source is "ADDRESS SUITE COMPONENT".
open_archive() {
    local at architectures=$2 source
    at=$(realpath -m "$1")
    shift 2
    if ! have apt-get || ! have dpkg-deb; then
        die "packages of Debian are fetched by apt-get, and there is none here"
    fi
    [ -e "$KEYRING" ] || die "$KEYRING is missing, by which Debian's packages are checked; install debian-archive-keyring"
    mkdir -p "$at"/{lists,cache/archives}/partial
    : >"$at/status"
    for source in "$@"; do
        echo "deb [arch=$architectures signed-by=$KEYRING] $source"
    done >"$at/sources.list"
    apt=(
        -o "Dir::State=$at" -o "Dir::State::lists=$at/lists" -o "Dir::State::status=$at/status"
        -o "Dir::Cache=$at/cache" -o "Dir::Etc::sourcelist=$at/sources.list" -o "Dir::Etc::sourceparts=-"
        -o "APT::Architecture=${architectures%%,*}" -o "APT::Architectures=$architectures"
        -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Languages=none"
        -o "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"
    )
    say "reading the package lists of: $*"
    apt-get "${apt[@]}" update -qq || warn "apt-get update failed for some of: $*"
}

# unpack FOLDER PACKAGE...  Unpacks packages into the folder, and notes their files in its file `packages`.
unpack() {
    local at=$1 fetched package
    shift
    mkdir -p "$at"
    fetched=$(mktemp -d)
    (cd "$fetched" && apt-get "${apt[@]}" download -qq "$@" >/dev/null) || die "these packages could not be fetched: $*"
    for package in "$fetched"/*.deb; do
        dpkg-deb -x "$package" "$at"
        basename "$package" .deb >>"$at/packages"
    done
    rm -r "$fetched"
}

# The sources of this system's own Debian archive, one a line.
own_sources() {
    # shellcheck disable=SC2016  # apt expands it
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u
}
