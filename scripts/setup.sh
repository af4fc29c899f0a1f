#!/bin/sh
# Makes the build tools ready, then runs the command given:
#
#     scripts/setup.sh [--build] [COMMAND ARG...]
#
# With --build only what building needs, and not what the tests need besides.
#
# Says nothing and starts almost no process when everything is there. On a fresh Debian it
# installs, as root, what is missing; without root it prints the one command that root must run
# and exits 1. Rust itself always goes into the user's home. Nothing but missing packages and
# the toolchain is touched.
set -eu

cd "$(dirname "$0")/.."

tests=yes
if [ "${1:-}" = --build ]; then
    tests=no
    shift
fi

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# The first quoted value of `key = "value"` in a TOML file.
toml_value() { sed -n "s/^$1 *= *\"\\([^\"]*\\)\".*/\\1/p" "$2" | head -n 1; }

pin=$(toml_value channel rust-toolchain.toml)
oldest=$(toml_value rust-version Cargo.toml)
if [ -z "$pin" ] || [ -z "$oldest" ]; then
    die "no toolchain version in rust-toolchain.toml or Cargo.toml"
fi

# A clean environment (cron, some CI) may lack HOME, and /usr/sbin where mkfs and losetup live.
: "${HOME:=$(getent passwd "$(id -u)" | cut -d: -f6)}"
export HOME
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin:/sbin
export PATH

# True if version $1 (1.95.0) is at least $2 (1.95).
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# True if rustup holds toolchain $1 with the tools that the checks call.
toolchain_present() {
    for bin in "${RUSTUP_HOME:-$HOME/.rustup}/toolchains/$1"-*/bin; do
        [ -x "$bin/cargo" ] && [ -x "$bin/cargo-clippy" ] && [ -x "$bin/cargo-fmt" ] && return 0
    done
    return 1
}

# The version of the cargo that would run now; empty if none runs. Never installs anything.
cargo_version() {
    RUSTUP_AUTO_INSTALL=0 cargo --version 2>/dev/null | cut -d ' ' -f 2 || true
}

# What the packages below are for: cc and the C library link Rust programs, curl and
# ca-certificates fetch Rust. e2fsprogs and util-linux make the loop file systems of the kernel
# tests, which only root can run; g++ and pkg-config show that libbaro serves C++ and is found. For
# anyone else those tests skip and the packages are not asked. xfsprogs and btrfs-progs make the file
# systems of the tests of what holds elsewhere, debootstrap the clean Debian in which the package is
# tried, python3-venv the programs that read what baro exports. fio, sqlite3 and musl-tools are what the
# interposer is tried with.
missing_packages() {
    have cc || echo gcc
    crt1=$(cc -print-file-name=crt1.o 2>/dev/null || true)
    case $crt1 in /*) ;; *) echo libc6-dev ;; esac
    if [ "$1" = download ]; then
        have curl || echo curl
        [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
    fi
    if [ "$(id -u)" = 0 ] && [ $tests = yes ]; then
        have mkfs.ext4 || echo e2fsprogs
        have losetup || echo util-linux
        have c++ || echo g++
        have pkg-config || echo pkg-config
        have mkfs.xfs || echo xfsprogs
        have mkfs.btrfs || echo btrfs-progs
        have debootstrap || echo debootstrap
        have fio || echo fio
        have sqlite3 || echo sqlite3
        have musl-gcc || echo musl-tools
        python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
    fi
}

install_packages() {
    [ -n "$1" ] || return 0
    have apt-get || die "missing: $1 (no apt-get here: install what provides them, then repeat)"
    if [ "$(id -u)" != 0 ]; then
        say "packages are missing; run this, then repeat:"
        printf "sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends %s'\n" "$1" >&2
        exit 1
    fi
    say "installing $1"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update >&2 || say "apt-get update failed; trying with the lists at hand"
    # shellcheck disable=SC2086  # one word per package
    apt-get -qq install -y --no-install-recommends $1 >/dev/null || die "apt-get could not install: $1"
}

packages() { missing_packages "$1" | tr '\n' ' ' | sed 's/ $//'; }

install_rustup() {
    say "installing Rust $pin into ${CARGO_HOME:-$HOME/.cargo}"
    script=$(mktemp)
    trap 'rm -f "$script"' EXIT
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o "$script" ||
        die "could not fetch https://sh.rustup.rs; install Rust $pin by hand, then repeat"
    sh "$script" -y -q --no-modify-path --profile minimal --default-toolchain none ||
        die "rustup could not be installed"
    rm -f "$script"
    trap - EXIT
}

install_pinned() {
    say "installing toolchain $pin"
    rustup toolchain install "$pin" --no-self-update --profile minimal \
        --component rustfmt --component clippy >&2 || return 1
    # Lets the checks prove that the format crate needs no operating system; they skip without it.
    rustup target add --toolchain "$pin" thumbv7em-none-eabihf >&2 || true
}

# Sets RUSTUP_TOOLCHAIN to an installed stable that is new enough, if there is one.
fall_back_to_stable() {
    toolchain_present stable || return 1
    version=$(RUSTUP_TOOLCHAIN=stable cargo_version)
    at_least "$version" "$oldest" || return 1
    say "toolchain $pin is not to be had; using the installed stable $version"
    RUSTUP_TOOLCHAIN=stable
    export RUSTUP_TOOLCHAIN
}

if have rustup && [ -z "${RUSTUP_TOOLCHAIN:-}" ]; then
    install_packages "$(packages offline)"
    if ! toolchain_present "$pin"; then
        install_pinned || fall_back_to_stable ||
            die "no Rust >= $oldest: run 'rustup toolchain install $pin', then repeat"
    fi
elif have cargo; then
    # A distribution's cargo, or a toolchain the user chose: good if new enough.
    install_packages "$(packages offline)"
    version=$(cargo_version)
    if [ -z "$version" ] || ! at_least "$version" "$oldest"; then
        die "found cargo '${version:-that does not run}', need >= $oldest: install Rust $pin by rustup"
    fi
    [ "$version" = "$pin" ] || say "using cargo $version instead of the pinned $pin"
else
    install_packages "$(packages download)"
    install_rustup
    install_pinned || die "could not install toolchain $pin"
fi

[ $# -eq 0 ] || exec "$@"
