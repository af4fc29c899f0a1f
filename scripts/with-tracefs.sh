#!/bin/sh
# Runs a command with tracefs mounted, for the tests that count what the kernel does:
#
#     scripts/with-tracefs.sh COMMAND [ARG...]
#
# As root and where nobody has mounted it yet, it is mounted in a mount namespace of the command's
# own, so that nothing of the machine changes. Else the command runs as it is and those tests skip.
set -eu
if [ "$(id -u)" != 0 ] || [ -d /sys/kernel/tracing/instances ] ||
    [ -d /sys/kernel/debug/tracing/instances ] || ! unshare -m true 2>/dev/null; then
    exec "$@"
fi
# shellcheck disable=SC2016  # the inner shell expands its own arguments
exec unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; exec "$@"' sh "$@"
