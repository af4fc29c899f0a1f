# The package's life in a clean Debian: run by `cargo xtask deb test` in a chroot with a /run of its
# own. $1 and $2 are two packages, the second newer. Prints `ok: WHAT` for each check; the first that
# fails ends it. /trial/said is what the recorder told the service manager.
set -eu
old=$1 new=$2
unit=/usr/lib/systemd/system/barograph.service
config=/etc/barograph/barograph.toml
store=/var/lib/barograph/store

fail() { echo "failed: $*"; exit 1; }
ok() { echo "ok: $*"; }
# What the package could leave behind; dpkg's own notes and the users' backup copies are not its.
files() {
    find / -xdev \( -path /trial -o -path /proc -o -path /sys -o -path /dev -o -path /run \
        -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \) -prune \
        -o ! -name '*-' -print | sort
}
field() { baro info "$store" --format json | sed -n "s/^  \"$1\": \([0-9]*\),*\$/\1/p"; }
checksums() { find /var/lib/barograph -type f -exec sha256sum {} + | sort; }
said() { grep -c "^$1" /trial/said || true; }

# As the unit has it, but for systemd itself: its command, its user, its folders.
start() {
    before=$(said READY=1)
    install -d -o barograph -g barograph -m 0750 /run/barograph
    command=$(sed -n 's/^ExecStart=//p' $unit)
    # shellcheck disable=SC2086  # the words of a command
    setpriv --reuid=barograph --regid=barograph --clear-groups --no-new-privs --bounding-set=-all \
        --inh-caps=-all env NOTIFY_SOCKET=/trial/notify WATCHDOG_USEC=1000000 \
        RUNTIME_DIRECTORY=/run/barograph $command >/tmp/out 2>/tmp/err &
    pid=$!
    tries=0
    while [ "$(said READY=1)" = "$before" ]; do
        kill -0 $pid || { cat /tmp/err; fail "the recorder ended"; }
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "not ready after a minute"
        sleep 0.1
    done
}
stop() {
    kill -TERM $pid
    wait $pid || { cat /tmp/out /tmp/err; fail "the recorder ended with $?"; }
}
whole() { baro verify "$store" | grep -q '^whole' || fail "verify: $(baro verify $store)"; }

files >/trial/before
dpkg -i "$old" >/trial/install
[ "$(getent passwd barograph | cut -d: -f6,7)" = /var/lib/barograph:/usr/sbin/nologin ] || fail user
[ "$(stat -c %U:%a /var/lib/barograph)" = barograph:750 ] || fail "folder of the data"
[ ! -e /etc/systemd/system/multi-user.target.wants/barograph.service ] || fail "enabled unasked"
baro --version >/dev/null
# What the loader complains of comes to stdout too.
LD_PRELOAD=/usr/lib/barograph/libbaro_preload.so cat $unit 2>&1 | cmp - $unit || fail "the interposer"
ok "installed: user, folder, unit, nothing started"

sed -i 's/^init = .*/init = "16M"/; s/^proc-interval = .*/proc-interval = "5ms"/' $config
start
sleep 1.5
stop
whole
first=$(field records)
[ "$first" -gt 50 ] || fail "records: $first"
grep -q '^WATCHDOG=1' /trial/said || fail "no sign of life"
grep -q '^STOPPING=1' /trial/said || fail "no STOPPING=1"
[ "$(stat -c %U $store)" = barograph ] || fail "owner of the store"
ok "records with the unit's command, tells the manager, $first records verified"

start
sleep 0.5
dpkg -i "$new" >>/trial/install
kill -0 $pid || fail "the upgrade ended a running recorder"
grep -q '16M' $config || fail "the upgrade undid a change of the settings"
sleep 0.5
kill -KILL $pid
wait $pid 2>/dev/null || true
start
grep -q '^took over [1-9]' /tmp/err || fail "no ring was taken over: $(cat /tmp/err)"
sleep 0.5
stop
whole
second=$(field records)
[ "$second" -gt "$first" ] || fail "records: $first, then $second"
[ -z "$(find /run/barograph -name '*.ring')" ] || fail "rings were not taken over"
ok "upgraded while it recorded, killed, rings taken over by the new version, $second records verified"

checksums >/trial/sums
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -s $unit /etc/systemd/system/multi-user.target.wants/barograph.service
ln -s ${unit%.service}-listen.service /etc/systemd/system/multi-user.target.wants/barograph-listen.service
dpkg -r barograph >>/trial/install
[ ! -e /usr/bin/baro ] && [ ! -e $unit ] || fail "files left by the removal"
for link in barograph barograph-listen; do
    [ ! -L /etc/systemd/system/multi-user.target.wants/$link.service ] || fail "link of $link left"
done
[ -e $config ] || fail "the removal took the settings"
checksums | cmp - /trial/sums || fail "the removal changed the data"
ok "removed: data and settings kept, unit and its link gone"

dpkg -i "$new" >>/trial/install
grep -q '16M' $config || fail "settings"
start
sleep 0.5
stop
whole
[ "$(field records)" -gt "$second" ] || fail "the new installation does not go on with the store"
ok "installed again: goes on with data and settings"

checksums >/trial/sums
dpkg -P barograph >/trial/purge
grep -q 'data in /var/lib/barograph were kept' /trial/purge || fail "not said: $(cat /trial/purge)"
checksums | cmp - /trial/sums || fail "the purge changed the data"
files >/trial/after
left=$(comm -13 /trial/before /trial/after | grep -v '^/var/lib/barograph' || true)
[ -z "$left" ] || fail "left behind: $left"
gone=$(comm -23 /trial/before /trial/after)
[ -z "$gone" ] || fail "taken away: $gone"
ok "purged: settings gone, data kept and said so, nothing else left"

rm -r /var/lib/barograph
userdel barograph
dpkg -i "$new" >>/trial/install
dpkg -P barograph >/trial/purge
[ ! -e /var/lib/barograph ] || fail "empty folder left"
! getent passwd barograph >/dev/null || fail "user without data left"
ok "without data a purge leaves nothing, nor the user"
