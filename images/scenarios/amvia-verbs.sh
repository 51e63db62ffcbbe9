# Runs in the guest: short two-way active messages against bare sends, over the same two Soft-RoCE devices, in interleaved
# pairs. docs/amvia.md ("Measurements") has what came of it.
#
# by its name only: it judges times, for which the machine has to be at rest
# No more processors than most machines have: an emulated one that waits for a real one is late.
# guest: --cpus 2 --numa 1
set -uo pipefail
. /usr/lib/jitterlab-guest/soft-roce

# On the disk, which is quicker than the shared folder.
work=/var/tmp/amvia-verbs
jitterlab=$work/jitterlab
mkdir -p $work
cd $work || exit 125
cp "$SHARE/jitterlab" .
to=10.7.0.2
client=0 server=1
pairs=60 trips=1001 size=32

soft_roce 0

serve() { # serve COMMAND…: one server at a time
    rm -f ready
    "$@" --cpu $server >ready &
    serving=$!
    until_it test -s ready
}
ended() {
    kill $serving && wait $serving 2>/dev/null
}
# Medians of the round trips, in ns. Both ends poll, as those of the bare sends do.
messages() {
    serve $jitterlab amvia serve --listen verbs://$to:7421 --protocol two-way --wait poll --min-rto 1s
    timeout 300 $jitterlab amvia rtt --transport verbs --device rxe0 --to verbs://$to:7421 --protocol two-way \
        --min-rto 1s --count $trips --size $size --cpu $client --format json >out 2>err || sed 's/^/# /' err
    ended
    sed -n 's/^ *"median": \([0-9.]*\),\{0,1\}$/\1/p' out | head -n 1 >>messages
}
sends() {
    serve $jitterlab packet serve --transport verbs --device rxe1 --bind $to:7411
    timeout 300 $jitterlab packet run --case rtt --transport verbs --device rxe0 --to $to:7411 --operation send \
        --service rc --wait poll --size $size --iterations $trips --cpu $client --format json >out 2>err ||
        sed 's/^/# /' err
    ended
    sed -n 's/^ *"one_way_median_ns": \([0-9.]*\),\{0,1\}$/\1/p' out | head -n 1 | awk '{ print 2 * $1 }' >>sends
}

rm -f messages sends
for ((pair = 0; pair < pairs; pair++)); do
    # Who is first alternates, so that a drift of the machine favours nobody.
    if ((pair % 2)); then messages && sends; else sends && messages; fi
done
is "active messages that came back" "$(grep -c . messages)" $pairs
is "bare sends that came back" "$(grep -c . sends)" $pairs
at() { # at RANK FILE: the value of a rank
    sort -g "$2" | sed -n "$1p"
}
paste messages sends | awk '{ print $1 / $2 }' >ratios
# The median lies between the 22nd and the 39th of 60, with 97 % (binomial).
echo "# two-way over verbs: $(at 30 messages) ns, bare sends: $(at 30 sends) ns," \
    "ratio $(at 30 ratios) ($(at 22 ratios) to $(at 39 ratios)), $pairs pairs"
is "two-way over verbs: at most 1.15 of bare sends" "$(at 39 ratios | awk '{ print ($1 <= 1.15) }')" 1
exit $failed
