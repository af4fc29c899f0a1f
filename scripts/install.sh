#!/bin/sh
# Installs what was built, with man pages, completions and the service:
#
#     scripts/install.sh FOLDER_OF_PROGRAMS
#
# PREFIX (/usr/local) is where, DESTDIR comes before it. Settings that are there stay. The service and
# its settings are for root, or for a package (DESTDIR).
set -eu

programs=$1
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
dest=${DESTDIR:-}

put() { # MODE FROM TO
    mkdir -p "$(dirname "$dest$3")"
    install -m "$1" "$2" "$dest$3"
}

put_program() { # FROM TO; without what only a debugger reads
    put 755 "$1" "$2"
    if command -v strip > /dev/null; then strip --strip-debug "$dest$2"; fi
}

put_program "$programs/baro" "$prefix/bin/baro"
if [ -e "$programs/baro-lake" ]; then
    put_program "$programs/baro-lake" "$prefix/lib/barograph/baro-lake"
fi
if [ -e "$programs/baro-listen" ]; then
    put_program "$programs/baro-listen" "$prefix/lib/barograph/baro-listen"
fi
if [ -e "$programs/baro-serve" ]; then
    put_program "$programs/baro-serve" "$prefix/lib/barograph/baro-serve"
fi
if [ -e "$programs/libbaro_preload.so" ]; then
    put 644 "$programs/libbaro_preload.so" "$prefix/lib/barograph/libbaro_preload.so"
fi
for page in packaging/man/*.1; do
    put 644 "$page" "$prefix/share/man/man1/${page##*/}"
done
put 644 packaging/completions/bash/baro "$prefix/share/bash-completion/completions/baro"
put 644 packaging/completions/zsh/_baro "$prefix/share/zsh/site-functions/_baro"
put 644 packaging/completions/fish/baro.fish "$prefix/share/fish/vendor_completions.d/baro.fish"
if [ "$(id -u)" = 0 ] || [ -n "$dest" ]; then
    unit=$prefix/lib/systemd/system/barograph.service
    put 644 packaging/systemd/barograph.service "$unit"
    sed "s|=/usr/bin/baro|=$prefix/bin/baro|" packaging/systemd/barograph.service > "$dest$unit"
    unit=$prefix/lib/systemd/system/barograph-listen.service
    put 644 packaging/systemd/barograph-listen.service "$unit"
    sed "s|=/usr/lib/|=$prefix/lib/|" packaging/systemd/barograph-listen.service > "$dest$unit"
    settings=/etc/barograph/barograph.toml
    [ -e "$dest$settings" ] || put 644 packaging/barograph.toml "$settings"
fi
echo "installed: $dest$prefix/bin/baro"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) [ -n "$dest" ] || echo "not in PATH yet: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
