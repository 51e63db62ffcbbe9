# Runs in the guest: tuning on a real kernel, over restarts and a cut of the power. The node has two
# packages of two cores, and an adapter with its own interrupts on the second.
#
#   boot 1  nothing that only looks changes anything; kills; apply
#   boot 2  what was applied is in force; revert
#   boot 3  all is as it was; the power is cut while apply works
#   boot 4  revert; all is as it was
set -uo pipefail

jitterlab=$SHARE/jitterlab
state=/var/tmp/tuning
mkdir -p $state
adapter=$(for net in /sys/class/net/*; do [ "$(cat "$net/device/numa_node" 2>/dev/null)" = 1 ] && basename "$net"; done)
ip link set "$adapter" up
# A link that comes up negotiates, and that sets the pause frames: only then are they anybody's.
until [ "$(cat "/sys/class/net/$adapter/carrier")" = 1 ]; do sleep 0.1; done

# What an emulated machine has not, and what Debian's kernel refuses or is built without.
lacking="cpuidle-states governor energy-preference turbo smt-control nosmt xps clocksource intel_idle.max_cstate irq-affinity"

has() { # has WHAT TEXT WORD
    case " $2 " in
    *" $3 "*) echo "ok - boot $BOOT: $1 has $3" ;;
    *)
        echo "not ok - boot $BOOT: $1 has no $3: $2"
        failed=1
        ;;
    esac
}

# Everything that tuning may touch, read without jitterlab, and by few programs: an emulator is slow to start one.
look() {
    local file files=() own
    for file in /proc/cmdline /sys/devices/system/cpu/{isolated,nohz_full,online,smt/control} \
        /sys/devices/virtual/workqueue/cpumask /proc/irq/default_smp_affinity \
        /proc/sys/kernel/{sched_rt_runtime_us,timer_migration,watchdog_cpumask,nmi_watchdog,soft_watchdog,numa_balancing} \
        /proc/sys/vm/stat_interval /proc/swaps /sys/kernel/mm/transparent_hugepage/enabled \
        /sys/devices/system/clocksource/clocksource0/current_clocksource \
        /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages \
        /sys/class/net/*/queues/*/{rps,xps}_cpus /sys/class/net/*/mtu \
        /sys/fs/cgroup/cgroup.subtree_control /sys/fs/cgroup/jitterlab/cpuset.cpus \
        /etc/default/grub.d/* /etc/security/limits.d/* /boot/grub/grub.cfg /run/jitterlab/* /var/lib/jitterlab/*; do
        [ ! -f "$file" ] || files+=("$file")
    done
    printf '%s\n' "${files[@]}"
    grep -H '' "${files[@]}" 2>&1
    # Which device gets which number is another one at each boot.
    {
        grep -sH '' /proc/irq/[0-9]*/smp_affinity_list
        printf '%s\n' /proc/irq/[0-9]*/*/
    } | awk -F '[/:]' '
        $5 == "smp_affinity_list" { list[$4] = $6; next }
        { gsub(/[0-9]/, "", $5); named[$4] = 1; print "interrupt", $5, list[$4] }
        END { for (irq in list) if (!(irq in named)) print "interrupt", list[irq] }' | sort
    ethtool -c "$adapter" 2>&1
    ethtool -a "$adapter" 2>&1
    echo "irqbalance $(systemctl is-active irqbalance)"
    # Workers come and go, threads that nobody can move (0x04000000) follow what they work for, and who looks is no part
    # of it. In a stat the process group is the third behind the name, and flags are the seventh.
    read -r _ _ own _ < <(sed 's/.*) //' /proc/$$/stat)
    {
        grep -sH '' /proc/[0-9]*/task/[0-9]*/stat
        grep -sE '^(Name|Cpus_allowed_list):' /proc/[0-9]*/task/[0-9]*/status
    } | awk -v own="$own" '
        match($0, /\/stat:.*\) /) {
            thread = $0
            sub(/\/stat:.*/, "", thread)
            split(substr($0, RSTART + RLENGTH), field, " ")
            skipped[thread] = field[3] == own || int(field[7] / 67108864) % 2
            next
        }
        {
            thread = $0
            sub(/\/status:.*/, "", thread)
            value = $0
            sub(/^[^\t]*\t/, "", value)
        }
        /status:Name:/ { name = value }
        /status:Cpus_allowed_list:/ && thread in skipped && !skipped[thread] { print name, value }' |
        grep -vE '^(kworker|irq/|udevd|\(udev-worker\))' | sort -u
}

# settled NAME: keeps a look at what has come to rest, after what was just begun or plugged in.
settled() {
    udevadm settle
    until_it sh -c 'systemctl list-jobs | grep "^No jobs"'
    look >$state/now
    until mv $state/now "$state/$1" && look >$state/now && cmp --quiet $state/now "$state/$1"; do sleep 1; done
}

same() { # same WHAT [BEFORE]: as it was looked at before, once services that were started again are up
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        look >$state/now
        if diff "$state/${2:-before}" $state/now >$state/diff; then
            echo "ok - boot $BOOT: $1"
            return
        fi
        sleep 1
    done
    echo "not ok - boot $BOOT: $1"
    cat $state/diff
    failed=1
}

# The settings in a state, by the JSON of plan, verify or apply.
in_state() {
    grep -B1 "\"state\": \"$1\"" | sed -n 's/.*"name": "\(.*\)",/\1/p' | tr '\n' ' '
}

# up: all that starts by itself has started. The login of the serial line waits until the rest has, and is no job then.
up() {
    systemctl is-system-running --wait >/dev/null
    until_it pgrep -x login
}

tune() {
    "$jitterlab" tune "$@" 2>$state/stderr
}

case $BOOT in
1)
    up
    settled before
    "$jitterlab" node show | sed 's/^/# /'
    tune plan --device "$adapter" >/dev/null
    is "plan" $? 0
    tune apply --device "$adapter" --dry-run >/dev/null
    "$jitterlab" noise run --cpus 2 --duration 1s >/dev/null
    "$jitterlab" check --duration 1s >/dev/null
    same "plan, a dry run, noise and check have changed nothing"

    for ((try = 1; try <= 4; try++)); do
        "$jitterlab" tune apply --device "$adapter" >/dev/null 2>&1 &
        sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
        tune revert >$state/reverted
        is "revert after kill $try" $? 0
        grep -E "left alone|not put back" $state/reverted
    done
    same "after kills and reverts all is as it was"

    tune apply --device "$adapter" --profile reversible --format json >$state/applied
    is "apply, reversible" $? 0
    echo "# unsupported: $(in_state unsupported <$state/applied)"
    settled tuned
    tune verify >/dev/null
    is "verify, reversible" $? 0
    "$jitterlab" node show >/dev/null
    "$jitterlab" noise run --cpus 2 --duration 1s >/dev/null
    "$jitterlab" check --duration 1s >/dev/null
    same "verify, show, noise and check of a tuned node have changed nothing" tuned
    is "the partition" "$(cat /sys/fs/cgroup/jitterlab/cpuset.cpus.partition)" isolated
    (echo $BASHPID >/sys/fs/cgroup/jitterlab/cgroup.procs && taskset -pc 2 $BASHPID >/dev/null)
    is "a program runs in it" $? 0
    printf 'hosts:\n  a: { at: local, cpu: 2 }\n  b: { at: local, cpu: 3 }\nrepetitions: 5\n' >/tmp/hosts.yaml
    $jitterlab validate /tmp/hosts.yaml --transport udp >/dev/null
    is "hosts are measured on its processors" $? 0
    setsid sleep 1000 &
    tune revert >/dev/null
    is "revert, reversible" $? 0
    is "a program that was started meanwhile" "$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/$!/status)" 0-3
    kill $! && wait $! 2>/dev/null
    same "what was reversible is reverted"

    # What takes things that the guest is given for it: swap, an RDMA device, more send queues than processors.
    # The kernel writes what is odd in the swap's name in another way.
    swap=$state/$'a swap\t\\040'
    fallocate -l 16M "$swap" && chmod 600 "$swap" && mkswap -q "$swap" && swapon "$swap"
    modprobe rdma_rxe
    ip link add veth0 numtxqueues 4 type veth peer name veth1
    ip link set veth0 up
    ip link set veth1 up
    rdma link add rxe0 type rxe netdev veth0
    # Its daemon is started by udev when it comes to it.
    until_it systemctl is-active rdma-ndd.service
    settled given
    tune apply --device rxe0 --only swap,xps,rdma-mtu
    is "apply, what it was given" $? 0
    is "swap" "$(wc -l </proc/swaps)" 1
    is "send queues" "$(cat /sys/class/net/veth0/queues/tx-*/xps_cpus | tr '\n' ' ')" "d 2 0 0 "
    is "the MTU of RDMA" "$(cat /sys/class/net/veth0/mtu)" 2128
    tune verify >/dev/null
    is "verify, what it was given" $? 0
    tune revert >/dev/null
    is "revert, what it was given" $? 0
    same "what it was given is reverted" given
    swapoff "$swap"
    ip link delete veth0

    tune apply --device "$adapter" --format json >$state/applied
    is "apply" $? 0
    sed -n '/"name"/,/"why"/p' $state/applied | paste - - - | grep -v '"held"' | sed 's/^/# /'
    echo "# unsupported: $(in_state unsupported <$state/applied)"
    tune verify --format json >$state/verified
    is "verify wants a reboot" $? 1
    echo "# after the reboot: $(in_state reboot <$state/verified)"
    has "what waits for it" "$(in_state reboot <$state/verified)" isolcpus
    is "what drifted" "$(in_state drifted <$state/verified)" ""
    ;;
2)
    for parameter in isolcpus=managed_irq,domain,2-3 irqaffinity=0-1 skew_tick=1 nmi_watchdog=0 transparent_hugepage=never; do
        has "the command line" "$(cat /proc/cmdline)" $parameter
    done
    is "isolated CPUs" "$(cat /sys/devices/system/cpu/isolated)" 2-3
    tune apply --format json >$state/applied
    is "apply after the reboot" $? 0
    tune verify --format json >$state/verified
    is "verify after the reboot" $? 0
    is "what drifted" "$(in_state drifted <$state/verified)" ""
    echo "# unsupported: $(in_state unsupported <$state/verified)"
    for unsupported in $(in_state unsupported <$state/verified); do
        has "what the guest does not offer" "$lacking" "$unsupported"
    done
    # What nobody can place has a handler of its own, or none.
    is "interrupts of the adapter on measuring CPUs" \
        "$(cd /proc/irq && grep -lE '[23]' $(grep "$adapter" /proc/interrupts | sed 's/^ *\([0-9]*\):.*/\1\/smp_affinity_list/') | tr '\n' ' ')" ""
    is "work queues" "$(cat /sys/devices/virtual/workqueue/cpumask)" 3
    is "real-time throttling" "$(cat /proc/sys/kernel/sched_rt_runtime_us)" -1
    is "init" "$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/1/status)" 0-1
    is "irqbalance" "$(systemctl is-active irqbalance)" inactive
    has "coalescing" "$(ethtool -c "$adapter" | tr '\t\n' '  ' | tr -s ' ')" "rx-usecs: 0"
    has "pause frames" "$(ethtool -a "$adapter" | tr '\t\n' '  ' | tr -s ' ')" "RX: off"
    tune revert --format json >$state/reverted
    is "revert" $? 0
    cat $state/stderr | tail -n 3 | sed 's/^/# /'
    ;;
3)
    up
    same "after revert and reboot all is as it was"
    [ $failed = 0 ] || exit 1
    sync
    "$jitterlab" tune apply --device "$adapter" >/dev/null 2>&1 &
    sleep 0.7
    power-cut
    ;;
4)
    up
    tune revert >/dev/null
    is "revert after the power was cut" $? 0
    same "after the cut of the power and revert all is as it was"
    exit $failed
    ;;
esac

[ $failed = 0 ] || exit 1
restart
