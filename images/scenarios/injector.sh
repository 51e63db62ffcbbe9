# Runs in the guest: delays in front of what Debian's perftest posts, over Soft-RoCE. docs/injector.md ("In the
# guest") says how it is judged, and what came of it.
#
# by its name only: it judges times, for which the machine has to be at rest
# No more processors than most machines have: an emulated one that waits for a real one is late.
# guest: --cpus 2 --numa 1
set -uo pipefail
. /usr/lib/jitterlab-guest/soft-roce

# On the disk, which is quicker than the shared folder.
work=/var/tmp/injector
jitterlab=$work/jitterlab
mkdir -p $work
cd $work || exit 125
cp "$SHARE"/{jitterlab,libjitterlab_preload.so,connectx.so,cycles} .

# A measurement is made so often. The same seed gives the same delays: the least of the times of a message counts, for an
# emulator that stands still only adds.
times=3
# perftest does not report the last, and we leave out the first.
messages=152
# The level of significance of all these distributions together.
alpha=0.01 tests=28
client=0 server=1 port=18515 link=0
options=() pausing=()

# Of a message after a pause the emulator knows less by heart: it takes longer, whoever made the pause, by a third of a
# millisecond, and by two thirds where two programs run at once; and a deferred send is late by some 200 us, for a thread
# posts it that has to be woken by a timer and to share a processor with a program that polls. So delays are long enough
# to make these a few per cent, and what is injected is compared both with the hot loop, over which it has to rise, and
# with pauses of the same mean, in us, that perftest makes by itself.
pause=24000
declare -A shape=(
    [constant]='--shape constant --mean 24ms'
    [uniform]='--shape uniform --mean 24ms --std 6ms'
    [lognormal]='--shape lognormal --mean 24ms --std 16ms'
    # Wrong ones for the lognormal: of the same mean, and of another one.
    [narrow]='--shape uniform --mean 24ms --std 4800us'
    [longer]='--shape lognormal --mean 28800us --std 19200us'
    [slow]='--shape constant --mean 5ms'
)
for table in "${!shape[@]}"; do
    # shellcheck disable=SC2086 # options and their values
    $jitterlab dist make ${shape[$table]} --seed 7 -o $table.dist || exit 125
done
for seed in 1 2; do
    echo $seed >$seed.seed
done
# perftest reports cycles. It would make times of them by itself, but gives up where it is disturbed.
mhz=$(./cycles)
echo "# $mhz cycles in a microsecond; the kernel says $(sed -n 's/^cpu MHz.*: //p' /proc/cpuinfo | head -n 1)"

# shellcheck disable=SC2317 # called by until_it
listening() {
    grep -q ":$(printf %04X "$port") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6
}
measure() { # measure NAME PROGRAM CALLS [OPTIONS OF inject run]: half round trips, in ns, are a column more in NAME.times
    local name=$1 program=$2 calls=$3 serving ended server_ended under=()
    local near=rxe$((2 * link)) far=rxe$((2 * link + 1))
    shift 3
    local how=(-s 8 -n "$messages" -p "$port" -F "${options[@]}")
    [ "$calls" = ibv_post_send ] || under=(env "LD_PRELOAD=$work/connectx.so")
    taskset -c "$server" "${under[@]}" "$program" "${how[@]}" -d $far -x "$(gid_index $far)" >"$name.server" 2>&1 &
    serving=$!
    until_it listening
    [ $# = 0 ] || under+=("$jitterlab" inject run --hook verbs --report "$name.report" "$@" --)
    # The client alone is delayed, and so makes the pauses alone.
    timeout 60 taskset -c "$client" "${under[@]}" "$program" "${how[@]}" "${pausing[@]}" -C -U -d $near -x "$(gid_index $near)" \
        "10.7.$link.2" >"$name.out" 2>&1
    ended=$?
    wait $serving
    server_ended=$?
    awk -F ', ' -v mhz="$mhz" '/^[0-9]+, / { printf "%.0f\n", 1000 * $2 / mhz }' "$name.out" |
        sed -n "2,$((messages - 1))p" >"$name.new"
    touch "$name.times"
    paste "$name.times" "$name.new" >"$name.both"
    mv "$name.both" "$name.times"
    if [ "$ended $server_ended" != '0 0' ]; then
        is "$name ran" "$ended $server_ended" "0 0"
        sed 's/^/# /' "$name.out" "$name.server"
    fi
}
least() { # least NAME: of each message, from NAME.times
    awk '{ least = $1; for (i = 2; i <= NF; i++) if ($i < least) least = $i; print least }' "$1.times"
}
mean_of() { # mean_of NAME: in us
    least "$1" | awk '{ sum += $1 } END { printf "%.1f\n", sum / NR / 1000 }'
}
lates() { # lates NAME: by how much the latest delay of each time was late, in ns, ascending
    grep -o '"late_max_ns":[0-9]*' "$1.report" | cut -d : -f 2 | sort -n
}
counter() { # counter NAME COUNTER: its sum over the measurements
    grep -o "\"$2\":[0-9]*" "$1.report" | awk -F : '{ sum += $2 } END { printf "%.0f\n", sum }'
}
figure() { # figure TEST FIGURE: of the last `stats compare`
    sed -n "/\"$1\": {/,/}/s/^ *\"$2\": \([^,]*\),\{0,1\}\$/\1/p" compared
}

# compare NAME BASE TABLE ASKED: the times of NAME, under delays of TABLE of the mean ASKED, with those of BASE-plain and
# BASE-pause. Sets rise, over the hot loop; over_pause, over pauses, with half a delay instead of half a pause; wanted and
# tolerance, of both; all in ns. Sets p, of the times and those of pauses with half a draw of TABLE each instead of half a
# pause, with the tolerance; and says all this.
compare() {
    local name=$1 base=$2 table=$3 asked=$4 plain distance
    least "$name" >injected
    least "$base-pause" | awk -v us=$pause '{ print $1 - 500 * us }' >base
    read -r rise over_pause wanted tolerance < <(awk -v asked="$asked" -v hot="$(mean_of "$base-plain")" '
        FNR == NR { base += $1; n++; next }
        { sum += $1; m++ }
        END {
            wanted = asked / 2
            tolerance = wanted > 60000 ? wanted / 20 : 3000
            printf "%.0f %.0f %.0f %.0f\n", sum / m - 1000 * hot, sum / m - base / n, wanted, tolerance
        }' base injected)
    awk 'BEGIN { srand(1) }
        /^#/ { next }
        FNR == NR { for (i = 1; i <= NF; i++) delay[n++] = $i; next }
        { printf "%.0f\n", $1 + delay[int(n * rand())] / 2 }' "$table.dist" base | sort -n >expected
    sort -n injected >sorted
    # The nearest that every quantile of the expected can come within the tolerance.
    paste sorted expected | awk -v most="$tolerance" '
        { d = $1 - $2; printf "%.0f\n", $2 + (d > most ? most : d < -most ? -most : d) }' >nearest
    $jitterlab stats compare --independent --format json sorted expected >compared || failed=1
    plain=$(figure kolmogorov_smirnov p)
    distance=$(sed -n 's/^ *"wasserstein_ns": \([^,]*\),$/\1/p' compared)
    $jitterlab stats compare --independent --format json sorted nearest >compared || failed=1
    p=$(figure kolmogorov_smirnov p)
    awk -v name="$name" -v table="$table" -v rise="$rise" -v over="$over_pause" -v wanted="$wanted" \
        -v tolerance="$tolerance" -v w="$distance" -v plain="$plain" -v p="$p" 'BEGIN {
            printf "# %s against %s: rises by %.1f us, asked %.1f (tolerance %.1f); over pauses by %.1f; ", \
                name, table, rise / 1000, wanted / 1000, tolerance / 1000, over / 1000
            printf "Wasserstein %.1f us; KS p %.2g, with the tolerance %.2g\n", w / 1000, plain, p }'
}
within() { # within RISE: whether it was within the tolerance of what was wanted
    echo $(($1 - wanted <= tolerance && wanted - $1 <= tolerance))
}
judge() { # judge NAME BASE TABLE CALLS: a measurement under injection
    local name=$1 base=$2 table=$3 post=0 extended=0 sent=$((times * messages)) asked
    if [ "$4" = ibv_post_send ]; then post=$sent; else extended=$sent; fi
    is "$name: post_send, wr_start, delays, errors" \
        "$(counter "$name" ibv_post_send) $(counter "$name" ibv_wr_start) $(counter "$name" delays) $(counter "$name" send_errors)" \
        "$post $extended $sent 0"
    is "$name: times" "$(awk '{ n += NF } END { print n }' "$name.times")" $((sent - 2 * times))
    asked=$(($(counter "$name" asked_ns) / sent))
    echo "$table $(counter "$name" asked_ns)" >>drawn
    compare "$name" "$base" "$table" $asked
    echo "# $name: mean asked $asked ns, achieved $(($(counter "$name" achieved_ns) / sent))," \
        "latest by $(lates "$name" | paste -sd ' ')"
    is "$name: its mean" "$(within "$rise")" 1
    is "$name: its mean, over pauses" "$(within "$over_pause")" 1
    echo "$p $name" >>p-values
}

soft_roce 0
soft_roce 1
$jitterlab packet run --case rtt --transport udp --iterations 100 --format json |
    sed -n 's/^ *"\(clock[a-z_]*\)": \([^,]*\),\{0,1\}$/# \1: \2/p'

# Alone. There and back, so that what drifts steadily drifts alike for all.
there='spin-constant spin-uniform pause spin-lognormal plain defer-constant defer-uniform defer-lognormal'
back='defer-lognormal defer-uniform defer-constant plain spin-lognormal pause spin-uniform spin-constant'
controls=0
for calls in ibv_post_send ibv_wr_start; do
    for program in ib_write_lat ib_send_lat; do
        group=$program-$calls
        for case in $there $back $there; do
            injection=() pausing=()
            case $case in
            plain) ;;
            pause) pausing=("--latency_gap=$pause") ;;
            *) injection=(--table "${case#*-}.dist" --seed 1.seed --mode "${case%-*}") ;;
            esac
            measure "$group-$case" $program $calls "${injection[@]}"
        done
        is "$group: perftest says which calls" "$(sed -n 's/^ ibv_wr\* API *: //p' $group-plain.out)" \
            "$([ $calls = ibv_post_send ] && echo OFF || echo ON)"
        for case in $there; do
            if [[ $case = plain || $case = pause ]]; then
                echo "# $group-$case: $(mean_of $group-$case) us"
                continue
            fi
            judge "$group-$case" $group "${case#*-}" $calls
            [ "$case" = spin-lognormal ] || continue
            compare "$group-$case" $group narrow 24000000
            echo "$p $group" >>found-out
            controls=$((controls + 1))
            compare "$group-$case" $group longer 28800000
            is "$group, control: the mean of another table" "$(within "$rise")" 0
        done
    done
done
is "the same seed, the same delays, whoever posts how" "$(sort -u drawn | wc -l)" 3

# Two processes at once, on one device and on two, with tables and seeds of their own. They sleep while they wait: the
# four of them would poll on two processors.
options=(-e)
both() { # both NAME LINK CASE: two measurements at the same time
    local one=() other=() first
    pausing=()
    case $3 in
    plain) ;;
    pause) pausing=("--latency_gap=$pause") ;;
    injected)
        one=(--table uniform.dist --seed 1.seed --mode spin)
        other=(--table lognormal.dist --seed 2.seed --mode defer)
        ;;
    esac
    measure "$1-one-$3" ib_send_lat ibv_post_send "${one[@]}" &
    first=$!
    client=1 port=18516 link=$2 measure "$1-other-$3" ib_send_lat ibv_post_send "${other[@]}"
    wait $first
}
for second in 0 1; do
    name=at-once-on-$((second + 1))-devices
    for ((time = 0; time < times; time++)); do
        for case in plain pause injected; do
            both $name $second $case
        done
    done
    judge $name-one-injected $name-one uniform ibv_post_send
    judge $name-other-injected $name-other lognormal ibv_post_send
done
is "another seed, other delays" "$(sort -u drawn | wc -l)" 4

# What they are doing meanwhile can be seen.
messages=1000 pausing=()
measure seen-one ib_send_lat ibv_post_send --table slow.dist --seed 1.seed --mode spin &
first=$!
client=1 port=18516 link=1 measure seen-other ib_send_lat ibv_post_send --table slow.dist --seed 2.seed --mode defer &
second=$!
# shellcheck disable=SC2317 # called by until_it
seen() {
    $jitterlab inject status >status
    [ "$(grep -c 'mean asked 5 ms, achieved [45]' status)" = 2 ]
}
until_it seen
sed 's/^/# /' status
wait $first $second

is "distributions" "$(wc -l <p-values)" $tests
sort -g p-values | awk -v m=$tests -v alpha=$alpha '
    { p = (m - NR + 1) * $1; if (p < least) p = least; least = p; if (p < alpha) print $2, "p", p }' >misfits
is "distributions that do not fit" "$(paste -sd ';' misfits)" ""
touch found-out
is "controls: a table of the same mean is found out" \
    "$(awk -v m=$tests -v alpha=$alpha '$1 < alpha / m' found-out | wc -l)" $controls
echo "# took $SECONDS s"
exit "$failed"
