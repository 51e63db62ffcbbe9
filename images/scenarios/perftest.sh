# Runs in the guest: the packet suite against Debian's perftest, over the same two Soft-RoCE devices, in interleaved pairs.
# docs/packet.md ("Against perftest") has what came of it.
#
# by its name only: it judges times, for which the machine has to be at rest
# No more processors than most machines have: an emulated one that waits for a real one is late.
# guest: --cpus 2 --numa 1
set -uo pipefail
. /usr/lib/jitterlab-guest/soft-roce

# On the disk, which is quicker than the shared folder.
work=/var/tmp/perftest
jitterlab=$work/jitterlab
mkdir -p $work
cd $work || exit 125
cp "$SHARE"/{jitterlab,cycles} .
to=10.7.0.2:7411
client=0 server=1
rounds=40

soft_roce 0
near=$(gid_index rxe0) far=$(gid_index rxe1)
# perftest reports cycles. It would make times of them by itself, but gives up where it is disturbed.
mhz=$(./cycles)

ours() { # ours FIELD DIVISOR OPTIONS…: a figure of a measurement against a server of its own, as perftest's is
    local name=$1 divisor=$2 pid
    shift 2
    rm -f ready
    $jitterlab packet serve --transport verbs --device rxe1 --bind $to --cpu $server >ready &
    pid=$!
    until_it test -s ready
    timeout 300 $jitterlab packet run --transport verbs --device rxe0 --to $to --cpu $client --format json "$@" >out 2>err
    is "packet run $*: exit status" $? 0
    kill $pid && wait $pid 2>/dev/null
    field "$name" | awk -v divisor="$divisor" '{ print $1 / divisor }' >>ours
}
theirs() { # theirs PROGRAM COLUMN DIVISOR SIZE OPTIONS…: a figure that it prints, of messages of a size
    local program=$1 column=$2 divisor=$3 size=$4 pid
    shift 4
    taskset -c $server "$program" -d rxe1 -x "$far" -s "$size" -F "$@" >/dev/null 2>&1 &
    pid=$!
    until_it sh -c "ss -tln | grep -q ':18515 '"
    taskset -c $client "$program" -d rxe0 -x "$near" -s "$size" -F "$@" 10.7.0.2 2>&1 | grep -E "^ *$size " |
        awk -v column="$column" -v divisor="$divisor" '{ print $column / divisor }' >>theirs
    wait $pid
}
# interval: the median of as many numbers as there are rounds, and its 95 % interval: that of the order statistics whose binomial
# probability is at least that.
interval() {
    sort -g | awk '{ value[NR] = $1 } END {
        term = 0.5 ^ NR
        for (low = 0; below + term <= 0.025; low++) {
            below += term
            term *= (NR - low) / (low + 1)
        }
        print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2, value[low], value[NR + 1 - low]
    }'
}
# Who is first alternates, so that a drift of the machine favours nobody.
pairs() { # pairs OUR_COMMAND THEIR_COMMAND: into the files ours and theirs
    rm -f ours theirs
    for ((i = 0; i < rounds; i++)); do
        if ((i % 2)); then $1 && $2; else $2 && $1; fi
    done
}
compare() { # compare WHAT PROGRAM LEAST MOST: what is in the files ours and theirs; the ratio has to lie between
    local ratio low high
    paste -d / ours theirs | awk -F / '{ print $1 / $2 }' >ratios
    echo "# $1: ours $(tr '\n' ' ' <ours)"
    echo "# $1: $2 $(tr '\n' ' ' <theirs)"
    is "$2 answered" "$(grep -c . theirs)" $rounds
    read -r ratio low high < <(interval <ratios)
    echo "# $1 against $2: $(interval <ours) / $(interval <theirs), ratio $ratio [$low, $high] ($rounds pairs: median, 95 % interval)"
    is "$1 against $2: a ratio of $3 to $4" "$(awk -v is="$ratio" -v least="$3" -v most="$4" 'BEGIN { print (is >= least && is <= most) }')" 1
}

write() { ours one_way_median_ns 1000 --case rtt --operation write --size 64 --iterations 10000 --warmup-iterations 100; }
send() { ours one_way_median_ns 1000 --case rtt --operation send --size 64 --iterations 10000 --warmup-iterations 100; }
stream() { ours bytes_per_second 1e6 --case bandwidth --size 64KiB --window 128 --iterations 2000 --warmup-iterations 128; }
write_lat() { theirs ib_write_lat 5 "$mhz" 64 -n 10000 -I 64 -C; }
send_lat() { theirs ib_send_lat 5 "$mhz" 64 -n 10000 -I 64 -C; }
# It counts in 1,048,576 bytes.
write_bw() { theirs ib_write_bw 4 0.95367431640625 65536 -n 2000; }

pairs write write_lat
echo "# (a reading of the clock takes us $(field clock_read_ns) ns, and one is in each RTT; perftest reads the TSC)"
compare "write, one-way medians in us" ib_write_lat 0 1
pairs send send_lat
compare "send, one-way medians in us" ib_send_lat 0 1
pairs stream write_bw
compare "write, MB/s" ib_write_bw 1 100
exit $failed
