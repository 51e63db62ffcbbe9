# Runs in the appliance behind `checks`: the name server of active messages as the packages start it, by their unit, which is here as
# names.service.
set -uo pipefail

unit=jitterlab-amvia-names
server=127.0.0.1:7420 key=/etc/jitterlab/amvia.key
trap 'kill $(jobs -p) 2>/dev/null; systemctl stop $unit' EXIT

find_it() {
    jitterlab amvia names lookup listed --server $server --key $key
}
main() {
    systemctl show --value --property MainPID $unit
}

cp names.service /run/systemd/system/$unit.service
systemctl daemon-reload
systemctl start $unit
is "without its files the name server is not started" "$(systemctl is-active $unit)" inactive
mkdir -p /etc/jitterlab
jitterlab amvia names key $key
echo "LISTEN=$server" >/etc/jitterlab/amvia-names.conf
systemctl start $unit
is "the unit starts" $? 0
jitterlab amvia serve --listen udp://127.0.0.1:7422 --name listed --names $server --key $key >/dev/null &
until_it find_it
is "an endpoint is found by its name" "$(find_it | grep -c 'udp://127.0.0.1:7422')" 1
before=$(main)
is "it is not root" "$(ps -o uid= -p "$before" | sed 's/^ *[1-9].*/another/')" another
is "it listens at one address" "$(ss -Hlun "sport = :7420" | awk '{ print $4 }')" $server
# The endpoint registers itself again, within a third of its lease of 30 s.
kill -9 "$before"
until_it find_it
is "it lives again" "$([ "$(main)" != "$before" ] && echo another)" another
exit $failed
