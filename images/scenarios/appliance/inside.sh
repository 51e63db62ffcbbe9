# Runs in the appliance: what is said of it is so. MPI is not empty where jitterlab-mpi was built.
set -uo pipefail

has() { # has WHAT TEXT WORD
    case " $2 " in
    *" $3 "*) echo "ok - $1 has $3" ;;
    *)
        echo "not ok - $1 has no $3: $2"
        failed=1
        ;;
    esac
}
starts() { # starts PROGRAM OPTION: it is there and begins
    "$@" >out 2>&1
    is "$1" "$?" 0
}

jitterlab boot report
jitterlab boot report --format json >out
is "boot report" $? 0
is "the node's name" "$(field hostname) $(hostname)" "proven proven"
is "problems, and what is missing" "$(grep -cE '"(problems|missing)": \[\]' out)" 2
emulated=$(field emulated)
# The noise of an emulated machine is not judged. That of another one is: what else the machine below it does is not tested.
[ "$emulated" = false ] || is "fit" "$(field fit)" true

# Read without jitterlab.
line=$(cat /proc/cmdline)
isolated=$(cat /sys/devices/system/cpu/isolated)
is "CPUs that measure" "$([ -n "$isolated" ] && echo some)" some
for parameter in "isolcpus=managed_irq,domain,$isolated" "nohz_full=$isolated" "rcu_nocbs=$isolated" skew_tick=1 \
    nmi_watchdog=0 transparent_hugepage=never; do
    has "the kernel's command line" "$line" "$parameter"
done
is "without a tick" "$(cat /sys/devices/system/cpu/nohz_full)" "$isolated"
is "the kernel was started again once" "$(grep -o 'jitterlab.restarted=' /proc/cmdline | wc -l)" 1
is "init stays off them" "$(taskset -cp 1 | grep -cE ": ($isolated|.*[,-]$isolated|$isolated,.*)\$")" 0
is "real-time throttling" "$(cat /proc/sys/kernel/sched_rt_runtime_us)" -1

jitterlab check --duration 1s >out
status=$?
[ "$emulated" = false ] || is "check" $status 0
sed 's/^/# /' out
jitterlab tune verify >out
is "tune verify" $? 0
jitterlab tune revert >out 2>&1
is "tune revert" $? 0
is "what was set is as it was" "$(cat /proc/sys/kernel/sched_rt_runtime_us)" 950000
jitterlab tune apply >out 2>&1
is "tune apply" $? 0
is "and set again" "$(cat /proc/sys/kernel/sched_rt_runtime_us)" -1
jitterlab tune verify >out
is "verify after that" $? 0

is "the root" "$(awk '$2 == "/" || $2 == "/run/jitterlab/root" { print $3 }' /proc/mounts | sort | paste -sd ' ')" \
    "overlay squashfs"
is "programs cannot be put onto the volume" "$(grep -c '^/dev/vd.* /run/jitterlab/volumes/JITTERLAB ext4 .*noexec' /proc/mounts)" 1
is "the node's key is kept" "$(stat -c %a /run/jitterlab/volumes/JITTERLAB/ssh_host_ed25519_key)" 600
is "root's password" "$(passwd --status root | cut -d ' ' -f 2)" L
is "units that failed" "$(systemctl --failed --plain --no-legend | cut -d ' ' -f 1 | paste -sd ' ')" ""

# Whatever they are asked, these end with 1.
is "perftest" "$(for program in ib_{write,send}_{lat,bw}; do $program --version; done | grep -c '^Version: ')" 4
starts ibv_devinfo -d rxe0
starts mpirun --allow-run-as-root -n 2 hostname
starts cyclictest --help
starts oslat --help
starts numactl --show
starts cpupower --version
starts ethtool --version
starts chrt --max
starts jitterlab node show

is "the RDMA device" "$(rdma link show rxe0/1 | grep -c 'state ACTIVE')" 1
timeout 120 jitterlab packet run --case rtt --transport verbs --device rxe0 --operation send --iterations 300 \
    --warmup-iterations 20 --timeout 1s --cpu "${isolated%%[,-]*}" --format json >out 2>err
is "send over the RDMA device" "$? $(field n) $(field device)" "0 300 rxe0"
cat err
echo "# median RTT $(field median) ns; a reading of the clock takes $(field clock_read_ns) ns"

if [ -n "$MPI" ]; then
    mpirun --allow-run-as-root --oversubscribe -n 2 jitterlab-mpi npb is --class S --format json >out 2>err
    is "a kernel of NPB on two ranks" "$? $(grep -o '"verified":[a-z]*' out)" '0 "verified":true'
    cat err
fi

# A delay far above what an emulator does by itself: every round trip has it, and without it not one.
jitterlab dist make --shape constant --mean 20ms -o delays
echo 1 >seed
rtt=(jitterlab packet run --case rtt --transport udp --iterations 50 --warmup-iterations 5 --timeout 5s --format json)
"${rtt[@]}" >out
is "round trips" "$? $(field n)" "0 50"
is "the quickest is quick" "$(field min | awk '{ print ($1 < 20e6) }')" 1
jitterlab inject run --hook socket --table delays --seed seed --report counters -- "${rtt[@]}" >out
is "round trips with 20 ms injected" "$? $(field n)" "0 50"
is "each has them" "$(field min | awk '{ print ($1 >= 20e6) }')" 1
echo "# counters: $(cat counters)"
echo "# $(systemd-analyze time | head -n 1)"
exit $failed
