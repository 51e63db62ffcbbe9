# Runs in the guest: active messages over UDP and shared memory. appliance/boot runs it in the appliance, behind `checks`, with
# TRANSPORTS=verbs; there verbs.sh has made two Soft-RoCE devices, one with the address 10.7.0.2.
set -uo pipefail

transports=${TRANSPORTS-udp shm}
PATH=${SHARE:+$SHARE:}$PATH
mkdir -p /run/amvia
cd /run/amvia || exit 125
# However it ends: ssh waits for whoever holds its output.
trap 'kill $(jobs -p) 2>/dev/null' EXIT
client=2 server=3

serving=''
serve() { # serve ADDRESS OPTIONS…: one server at a time
    [ -z "$serving" ] || { kill "$serving" && wait "$serving"; } 2>/dev/null
    rm -f ready
    jitterlab amvia serve --listen "$@" --cpu $server >ready &
    serving=$!
    until_it test -s ready
}
call() { # call ADDRESS OPTIONS…
    timeout 120 jitterlab amvia call "server@$1" --cpu $client "${@:2}" >out 2>err
    local status=$?
    [ $status = 0 ] || sed 's/^/# /' out err
    return $status
}

sent() { # packets that the RDMA devices have sent
    cat /sys/class/infiniband/*/ports/1/hw_counters/sent_pkts | awk '{ sum += $1 } END { print sum }'
}
spent() { # seconds of CPU that the server has used
    ps -o cputimes= -p "$serving"
}
works() { # works BEFORE: it has answered requests for a second at least; starting and waiting take none of it
    [ "$(spent)" -gt $(($1 + 1)) ]
}
grows() { # grows BEFORE: a connection over verbs takes a while to come up; then requests run over it
    [ "$(sent)" -gt $(($1 + 100)) ]
}

for over in $transports; do
    case $over in
    udp) address=udp://127.0.0.1:7421 ;;
    shm) address=shm://server ;;
    verbs) address=verbs://10.7.0.2:7421 ;;
    esac
    for protocol in amvia amudp two-way; do
        serve $address --protocol $protocol
        call $address --protocol $protocol --count 300
        is "$over, $protocol: requests" $? 0
        sed "s/^/# $over, $protocol: /" out
        # In several frames.
        call $address --protocol $protocol --count 20 --size 8000
        is "$over, $protocol: long requests" $? 0
    done

    # What a frame costs: printed, since a guest without RDMA hardware is slower than any network. Two protocols over verbs show that
    # the suite runs there; the others differ by their schedules alone.
    protocols=''
    [ "$over" != verbs ] || protocols='amvia two-way'
    for protocol in $protocols; do
        serve $address --protocol $protocol --wait poll --min-rto 1s
        timeout 120 jitterlab amvia rtt --transport $over --protocol $protocol --to $address --min-rto 1s --count 300 \
            --cpu $client >out 2>err
        is "$over, $protocol: the suite's round trips" $? 0
        timeout 240 jitterlab amvia loggp --transport $over --protocol $protocol --to $address --blocks 2 --cpu $client >>out 2>>err
        is "$over, $protocol: the suite's LogGP" $? 0
        sed "s/^/# $over, $protocol: /" out err
    done

    # Whoever is killed, the other one goes on, and says what it knows.
    serve $address
    before=$(sent) spent_before=$(spent)
    # Longer than the timeouts of a request take: those adapt to a slow guest.
    call $address --count 1000000 --patience 10s &
    calling=$!
    until_it works "$spent_before"
    [ "$over" != verbs ] || until_it grows "$before"
    kill -9 $serving
    wait $calling
    is "$over: a server that is killed" $? 1
    # How long after: printed, since the guest may be slow.
    is "$over: the state is unknown then" "$(grep -c '^unknown after' out)" 1
    sed -n "s/^unknown after/# $over: &/p" out
    # It was never there: each request would fail alike, and the first says so.
    call $address --count 1000000 --patience 3s
    is "$over: a server that is not there" $? 1
    serving=''
    serve $address
    call $address --count 100
    is "$over: a server that lives again" $? 0
    for ((try = 1; try <= 3; try++)); do
        call $address --count 1000000 &
        until_it pgrep -f 'amvia call' >/dev/null
        sleep "0.$RANDOM"
        pkill -9 -f 'amvia call'
        wait $! 2>/dev/null
        call $address --count 100
        is "$over: after a client was killed" $? 0
    done
done

# What failures cost over Soft-RoCE; and over UDP, by the tracepoints of this kernel, where it has them and the clock. Few transactions: they show
# that it runs, and too few frames are lost to judge.
for over in $transports; do
    [ "$over" != shm ] || continue
    timeout 240 jitterlab amvia performability --transport $over --protocol two-way --ber 1e-4 --timeout 50ms --measured 300 \
        --simulated 2k >out 2>err
    is "$over: the suite's performability" $? 0
    is "$over: tracepoints, or why there are none" "$(grep -c "^$over, two-way: .*tracepoints" out)" 1
    sed "s/^/# $over: /" out err
done
exit $failed
