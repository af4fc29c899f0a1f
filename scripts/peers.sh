#!/bin/sh
# Fetches the programs that tests compare with, from this Debian's own packages:
#
#     scripts/peers.sh FOLDER
#
# InfluxDB with its client, Prometheus and VictoriaMetrics are unpacked into FOLDER, with nothing of them installed or started. Says nothing
# where they are there. Needs apt-get and a network; without them it says why and exits 1.
set -eu

die() { printf 'peers: %s\n' "$*" >&2; exit 1; }

[ $# = 1 ] || die "expected a folder, found $# arguments"
[ -x "$1/usr/bin/influxd" ] && [ -x "$1/usr/bin/promtool" ] && [ -x "$1/usr/bin/influx" ] &&
    [ -x "$1/usr/bin/vmagent" ] && exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || die "no apt-get and dpkg-deb"
mkdir -p "$1/packages"
cd "$1/packages"
# Packages lie here as the user that fetches them; apt's own user may not get here.
apt-get -o APT::Sandbox::User=root -qq download influxdb influxdb-client prometheus victoria-metrics >&2 || die "no packages (apt-get update?)"
for package in influxdb_*.deb influxdb-client_*.deb prometheus_*.deb victoria-metrics_*.deb; do
    dpkg-deb --extract "$package" ..
done
rm -- *.deb
