# Runs in the appliance, behind `checks` and `soft-roce` of the guest: the packet suite over verbs. Two Soft-RoCE devices,
# rxe0 and rxe1, at the ends of a pair of virtual Ethernet devices, in place of the one that the boot has made.
set -uo pipefail

mkdir -p /run/verbs
cd /run/verbs || exit 125
# However it ends: ssh waits for whoever holds its output.
trap 'kill $(jobs -p) 2>/dev/null' EXIT
to=10.7.0.2:7411
# The client and the server stay on two processors of one package.
client=2 server=3

says() { # says WHAT STATUS TEXT COMMAND…: ends with a status and, on stderr, in one line, this text
    local what=$1 status=$2 expected=$3
    shift 3
    "$@" >out 2>err
    is "$what: exit status" $? "$status"
    if [ "$(wc -l <err)" = 1 ] && grep -qF -- "$expected" err; then
        echo "ok - $what: $(cat err)"
    else
        echo "not ok - $what: found '$(cat err)', expected '$expected'"
        failed=1
    fi
}
passes() { # passes WHAT: the last measurement did
    local status=$?
    is "$1: exit status" $status 0
    [ $status = 0 ] || sed 's/^/# /' err
}
messages() { # of the last measurement: those that were answered, late or lost
    echo $(($(field n)0 / 10 + $(field lost)0 / 10 + $(field reordered)0 / 10))
}
run() { # run OPTIONS…: a measurement from rxe0 to a server on rxe1
    timeout 120 jitterlab packet run --case rtt --transport verbs --device rxe0 --to $to --cpu $client \
        --format json "$@" >out 2>err
}
sent=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
under_way() { # under_way: a measurement that was started is sending
    local before
    before=$(cat $sent)
    until_it sh -c "[ \$(cat $sent) -gt $((before + 20)) ]"
}
serving=''
serve() { # serve OPTIONS…: one server at a time
    [ -z "$serving" ] || { kill "$serving" && wait "$serving"; } 2>/dev/null
    rm -f ready
    jitterlab packet serve --transport verbs --device rxe1 --bind $to --cpu $server "$@" >ready &
    serving=$!
    until_it test -s ready
}

rtt="jitterlab packet run --case rtt --transport verbs"
rdma link delete rxe0
says "no device" 3 "this machine has no RDMA device" $rtt --to $to

soft_roce 0
jitterlab packet list | sed 's/^/# /'

says "another device" 2 "there is no RDMA device mlx5_0; there is rxe0, rxe1" $rtt --device mlx5_0
says "a longer packet than the port's" 2 "carries packets of up to 1024 bytes now, not 4096" $rtt --mtu 4096
says "a datagram longer than a packet" 2 "8 to 1024 bytes" \
    $rtt --operation send --service ud --size 2000
says "blocking for a write" 2 "because nothing wakes a receiver that sleeps" $rtt --wait block
says "a GID that is not there" 2 "has no GID with the index 77" $rtt --gid-index 77
says "nobody there" 3 "start \`jitterlab packet serve --transport verbs --bind $to\` there" $rtt --to $to

# Every way, over the wire and in a device.
serve
for way in write,rc,poll write-imm,rc,poll write-imm,rc,block send,rc,poll send,rc,block send,ud,poll send,ud,block; do
    IFS=, read -r operation service wait <<<"$way"
    for size in 8 64 1000; do
        how="--operation $operation --service $service --wait $wait --size $size"
        what="$operation, $service, $wait, $size B"
        # Whether a packet is lost, over a service that may lose them, is the emulator's affair.
        run $how --iterations 300 --warmup-iterations 20 --timeout 1s
        passes "$what"
        is "$what: messages" "$(messages)" 300
        [ "$service" = ud ] || is "$what: losses" "$(field lost) $(field reordered) $(field duplicates)" "0 0 0"
        is "$what: the path" "$(field device) $(field operation) $(field service) $(field inline) $(field mtu)" \
            "rxe0 $operation $service $([ $size -le 220 ] && echo true || echo false) 1024"
        echo "# $what: median RTT $(field median) ns"
    done
done
run --size 1MiB --iterations 20 --warmup-iterations 2 --timeout 5s
is "a megabyte in a thousand packets" "$? $(field n)" "0 20"
run --size 1 --inline off --iterations 300 --warmup-iterations 0
is "a byte, not inline" "$? $(field n) $(field inline)" "0 300 false"
run --size 200 --inline on --iterations 300 --warmup-iterations 0 --mtu 256
is "inline, and a shorter packet" "$? $(field n) $(field inline) $(field mtu)" "0 300 true 256"
says "inline where it is too long" 2 "rxe0 does not take messages of 4096 bytes inline" \
    $rtt --device rxe0 --to $to --inline on --size 4096
says "samples" 0 "" sh -c "$rtt --iterations 100 --samples s.csv && echo >&2"
is "their number" "$(grep -cv '^#' s.csv)" 100
grep '^#' s.csv

# Whoever comes and goes, the next one is served; a server that goes is noticed.
for wait in poll block; do
    serve
    for ((try = 1; try <= 3; try++)); do
        run --operation send --wait $wait --duration 60s &
        under_way
        sleep "0.$RANDOM"
        pkill -9 -f 'packet run'
        wait $! 2>/dev/null
        run --operation send --wait $wait --iterations 100 --timeout 1s
        is "after a client was killed, $wait" "$? $(field n) $(field lost)" "0 100 0"
    done
    run --operation send --wait $wait --duration 60s &
    under_way
    kill -9 $serving
    wait $!
    is "a server that is killed, $wait" "$? $(wc -l <err)" "3 1"
    sed 's/^/# /' err
    serving=''
done
serve
says "a stream that sleeps" 2 "bandwidth over verbs needs" \
    jitterlab packet run --case bandwidth --transport verbs --wait block --to $to

# Every case, every way that there is.
case_of() { # case_of CASE OPTIONS…: a measurement of another case
    timeout 300 jitterlab packet run --transport verbs --device rxe0 --to $to --cpu $client --format json \
        --warmup 20ms --duration 100ms --timeout 1s --case "$@" >out 2>err
    local status=$?
    [ $status = 0 ] || sed 's/^/# /' err
    return $status
}
points() { grep -cE "^ *\"($1)\":" out; }
for way in write,rc write-imm,rc send,rc send,ud; do
    IFS=, read -r operation service <<<"$way"
    how="--operation $operation --service $service"
    case_of latency $how --size 8,1000
    is "latency, $way: points" "$? $(points one_way_median_ns)" "0 2"
    case_of bandwidth $how --size 8,1000 --window 16
    is "bandwidth, $way: points" "$? $(points half_window_ns)" "0 2"
    [ "$service" = ud ] || is "bandwidth, $way: missing" "$(grep -c '"missing": 0,' out)" 2
    case_of bidirectional $how --size 16,1000 --window 16
    is "bidirectional, $way: points" "$? $(points latency_ns)" "0 2"
    is "bidirectional, $way: from there, too" "$(grep -c '"back_bytes_per_second": 0.0,' out)" 0
    case_of overhead $how --size 64 --window 16
    is "overhead, $way: points" "$? $(points send_ns)" "0 1"
    [ "$operation" = write-imm ] || {
        ways=$([ "$operation" = write ] && echo 3 || echo 2)
        case_of completion $how
        is "completion, $way: ways, and the path of each" "$? $(points way) $(points device)" "0 $ways $ways"
    }
    [ "$service" = ud ] || {
        case_of buffer-reuse $how --size 4KiB --buffers 1,300 --reuse 50 --window 16
        is "buffer reuse, $way: patterns" "$? $(grep -cE '^ *"(fifo|reuse_percent)": [0-9]' out)" "0 3"
    }
    case_of hot-spot $how --size 8
    is "hot spot, $way: slaves" "$? $(points slaves)" "0 1"
done
echo "# what a person sees:"
timeout 300 jitterlab packet run --transport verbs --device rxe0 --to $to --cpu $client --warmup 20ms --duration 100ms \
    --case latency 2>&1 | sed 's/^/# /'
kill $serving
serving=''
timeout 300 jitterlab packet run --transport verbs --cpu $client --warmup 20ms --duration 100ms --case hot-spot \
    --slaves 3 >out 2>err
is "hot spot, three slaves on one device" "$? $(wc -l <out)" "0 6"
sed 's/^/# /' out err

# What the network loses, a reliable connection repeats, and a datagram is not a sample.
serve
tc qdisc add dev veth0 root netem loss 3%
run --operation send --iterations 300 --warmup-iterations 0 --timeout 2s
is "reliable, though packets are lost" "$? $(field n) $(field lost)" "0 300 0"
run --operation send --service ud --iterations 300 --warmup-iterations 0 --timeout 50ms
is "datagrams, some lost" "$? $(messages) $([ "$(field lost)0" -gt 0 ] && echo lost)" "0 300 lost"
tc qdisc delete dev veth0 root

# Where hosts and cases are described.
cat >hosts.yaml <<'HOSTS'
hosts:
  a: { at: local, address: 10.7.0.1, device: rxe0, cpu: 2 }
  b: { at: local, address: 10.7.0.2, device: rxe1, cpu: 3 }
verbs: { operation: send }
repetitions: 3
HOSTS
jitterlab validate hosts.yaml --transport verbs --format json >out 2>err
is "validate" "$? $(field transport) $(field operation)" "0 verbs send"
is "its measurements" "$(grep -c '"median"' out)" 3
cat >experiment.yaml <<'EXPERIMENT'
name: verbs
seed: 1
repetitions: 2
hosts:
  a: { at: local, address: 10.7.0.1, device: rxe0, cpu: 2 }
  b: { at: local, address: 10.7.0.2, device: rxe1, cpu: 3 }
suites:
  packet:
    - { case: rtt, transports: [verbs, tcp], from: a, to: b, size: 64B, warmup: 20ms, duration: 200ms, wait: poll }
    - { case: rtt, name: send, transports: [verbs], verbs: { operation: send, service: ud }, from: a, to: b, size: 64B, warmup: 20ms, duration: 200ms, wait: block }
EXPERIMENT
folder=$(jitterlab run experiment.yaml 2>err)
is "an experiment" $? 0
is "its runs" "$(wc -l <"$folder/runs.jsonl") $(grep -c '"operation":"write"' "$folder/runs.jsonl")" "6 2"

# A wire that is cut, at either end: the reliable connection says what broke, whichever end hears of it.
for wire in veth0 veth1; do
    serve
    run --operation send --duration 60s --timeout 200ms &
    under_way
    tc qdisc add dev $wire root netem loss 100%
    wait $!
    is "a wire that is cut, $wire" \
        "$? $(grep -c 'the peer stopped answering after .* retry counter exceeded' err)" "3 1"
    sed 's/^/# /' err
    tc qdisc delete dev $wire root
done
exit $failed
