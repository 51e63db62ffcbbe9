# Runs in the appliance after verbs.sh, behind `checks`: load over verbs, and an experiment of all eight packet cases over verbs,
# without load, under load over verbs, and with injected delays, up to its report. verbs.sh has made two Soft-RoCE
# devices, rxe0 with the address 10.7.0.1 and rxe1 with 10.7.0.2.
set -uo pipefail

mkdir -p /run/experiment
cd /run/experiment || exit 125
# However it ends: ssh waits for whoever holds its output.
trap 'kill $(jobs -p) 2>/dev/null' EXIT
to=10.7.0.2:7412

jitterlab load serve --bind $to --device rxe1 >ready &
sink=$!
until_it test -s ready
for message in 64 4096 65536; do
    timeout 60 jitterlab load run --transport verbs --device rxe0 --to $to --level 60 --message $message \
        --duration 1s --format json >out 2>err
    is "load, $message B" "$? $(field transport) $(field lost_messages) $(field refused_messages)" "0 verbs 0 0"
    is "load, $message B: all has arrived" "$(field received_messages)" "$(field sent_messages)"
    echo "# load, $message B: $(field produced_level) % of $(field bandwidth) B/s"
    sed 's/^/# /' err
done
kill $sink
jitterlab load run --transport verbs --device mlx5_0 --level 1 >out 2>err
is "a device that is not there" "$? $(grep -c 'there is no RDMA device mlx5_0; there is rxe0, rxe1' err)" "2 1"

# The load goes between hosts of its own, which are the same two ends, and leaves the processors of the measurement alone.
cat >experiment.yaml <<'EXPERIMENT'
name: over-verbs
seed: 1
repetitions: 2
hosts:
  a: { at: local, address: 10.7.0.1, device: rxe0, cpu: 2 }
  b: { at: local, address: 10.7.0.2, device: rxe1, cpu: 3 }
  c: { at: local, address: 10.7.0.1, device: rxe0 }
  d: { at: local, address: 10.7.0.2, device: rxe1 }
load: { transport: verbs, between: [c, d] }
levels:
  load: [60]
  injected: { delays: [500us] }
suites:
  packet:
    - { case: rtt, transports: [verbs], from: a, to: b, warmup: 10ms, duration: 200ms, timeout: 1s }
    - { case: latency, transports: [verbs], from: a, to: b, sizes: [8B, 4KiB], warmup: 5ms, duration: 50ms, timeout: 1s }
    - { case: bandwidth, transports: [verbs], from: a, to: b, sizes: [64B, 4KiB], window: 16, warmup: 5ms, duration: 50ms, timeout: 1s }
    - { case: bidirectional, transports: [verbs], from: a, to: b, sizes: [64B, 4KiB], window: 16, warmup: 5ms, duration: 50ms, timeout: 1s }
    - { case: overhead, transports: [verbs], from: a, to: b, sizes: [64B], window: 16, warmup: 5ms, duration: 30ms, timeout: 1s }
    - { case: completion, transports: [verbs], from: a, to: b, sizes: [64B, 4KiB], warmup: 5ms, duration: 30ms, timeout: 1s }
    - { case: buffer-reuse, transports: [verbs], from: a, to: b, sizes: [64B, 4KiB], window: 16, buffers: [1, 10], reuse: [50], warmup: 5ms, duration: 30ms, timeout: 1s }
    - { case: hot-spot, transports: [verbs], from: a, to: b, slaves: 2, warmup: 5ms, duration: 50ms, timeout: 1s }
EXPERIMENT
SECONDS=0
folder=$(timeout 1500 jitterlab run experiment.yaml 2>err)
is "the experiment" $? 0
sed 's/^/# /' err
echo "# $SECONDS s"
runs=$folder/runs.jsonl
is "its runs" "$(wc -l <"$runs") $(grep -c '"outcome":"done"' "$runs")" "48 48"
for level in none load delay; do
    is "cases at the level $level" "$(grep "\"kind\":\"$level\"" "$runs" | grep -o '"case":"[a-z-]*","transport":"verbs","level"' |
        sort -u | wc -l)" 8
done
is "loads over verbs" "$(grep -c '"load":{"transport":"verbs",' "$runs")" 16
is "messages of them that were lost" "$(grep -o '"lost_messages":[0-9]*,"refused_messages":[0-9]*' "$runs" | sort -u)" \
    '"lost_messages":0,"refused_messages":0'
grep -o '"run":"[^"]*"\|"produced_level":[0-9.]*' "$runs" | paste -sd ' ' | sed 's/"run":/\n# /g' | grep produced
jitterlab report "$folder" >page 2>err
is "its report" "$? $(grep -c '<svg' "$(cat page)" | sed 's/^[1-9].*/with figures/')" "0 with figures"
sed 's/^/# /' err
tar -cf results.tar results
exit $failed
