# Runs in the guest: simultaneous multithreading, on cores that have two threads.
# guest: --threads 2
#
#   boot 1  it is turned off at once, and on again; and for the next boot
#   boot 2  it is off; revert
#   boot 3  it is on
set -uo pipefail

jitterlab=$SHARE/jitterlab
cpus=/sys/devices/system/cpu
settings=smt-control,nosmt

case $BOOT in
1)
    is "the guest's cores have two threads" "$(cat $cpus/smt/active)" 1
    is "all of them are there" "$(cat $cpus/online)" 0-3
    "$jitterlab" tune apply --profile reversible --only smt-control >/dev/null
    is "apply, at once" $? 0
    is "it is off" "$(cat $cpus/smt/active)" 0
    is "one thread of each core is there" "$(cat $cpus/online)" 0,2
    "$jitterlab" tune revert >/dev/null
    is "revert" $? 0
    is "it is on again" "$(cat $cpus/online)" 0-3
    "$jitterlab" tune apply --only $settings >/dev/null
    is "apply" $? 0
    ;;
2)
    is "the kernel was told" "$(grep -cw nosmt /proc/cmdline)" 1
    is "one thread of each core is there" "$(cat $cpus/online)" 0,2
    "$jitterlab" tune apply --only $settings >/dev/null
    is "apply after the reboot" $? 0
    "$jitterlab" tune verify >/dev/null
    is "verify" $? 0
    "$jitterlab" tune revert >/dev/null
    is "revert" $? 0
    ;;
3)
    is "the kernel is not told any more" "$(grep -cw nosmt /proc/cmdline)" 0
    is "all threads are there again" "$(cat $cpus/online)" 0-3
    exit $failed
    ;;
esac

[ $failed = 0 ] || exit 1
restart
