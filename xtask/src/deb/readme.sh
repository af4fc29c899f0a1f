# README's first lines in a clean Debian: run by `cargo xtask deb readme` in a chroot, with a clone of
# the repository in /barograph. Types the first block of README until a value is read back, with
# another series and value than README's, and counts the lines that were read and typed.
set -eu
apt-get -qq update
apt-get -qq install -y --no-install-recommends git make ca-certificates >/dev/null
cd /barograph
last=$(grep -n '^baro query' README.md | head -n 1 | cut -d: -f1)
sed -n "1,${last}p" README.md | sed '1,/^```sh$/d' | sed 's/temperature/cellar/g; s/21\.5/17.25/' >/tmp/typed
typed=0
while IFS= read -r line <&3; do
    echo "\$ $line"
    began=$(date +%s)
    sh -c "$line" >/tmp/said 2>&1 || { cat /tmp/said; echo "failed: $?"; exit 1; }
    # What a build says of each package is of no interest.
    grep -v '^ *\(Compiling\|Downloaded\|Downloading\|Locking\) ' /tmp/said || true
    seconds=$(($(date +%s) - began))
    [ $seconds -lt 5 ] || echo "($seconds s)"
    typed=$((typed + 1))
done 3</tmp/typed
grep -q '17\.25' /tmp/said || { echo "failed: the value did not come back"; exit 1; }
echo "ok: $last lines of README read, $typed of them typed, until a value of one's own was read back"
