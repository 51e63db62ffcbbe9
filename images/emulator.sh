# What images/boot and images/guest/boot share. Sourced behind bootstrap/common.sh.

# emulate [MODEL]: sets $accelerator to what makes the emulator one, with what else is said of its processor, and $parameters
# to those of the kernel that this needs.
emulate() {
    # Page tables of five levels would be one more to walk for an emulator; and it copies and clears byte by byte where a
    # processor says that it is quick at that: unpacking the initrd takes eight times as long.
    accelerator=(-accel "tcg,thread=multi" -cpu "max,la57=off,erms=off,fsrm=off${1:+,$1}")
    # Its TSC is that of the machine it runs on. Linux knows nothing of that, and would ask the HPET for the time: 1 us
    # instead of 0.1. Now and then the kernel's tests of its own ciphers do not end there. And it waits some 60 ms for ticks of the
    # timer: beside much other work none come in time, and it panics.
    parameters='tsc=reliable cryptomgr.notests no_timer_check'
    # It measures the rate of the TSC against a timer of the emulator's: beside much other work it took 2.6 GHz for a fifteenth of that, and
    # its clock ran as much too fast. A processor whose rate changes says nothing of its TSC here.
    grep -qw aperfmperf /proc/cpuinfo || [ -e /sys/devices/system/cpu/cpu0/cpufreq ] ||
        parameters+=$(sed -n 's/^cpu MHz[^0-9]*\([0-9]*\)[.]\([0-9]\{3\}\)$/ tsc_early_khz=\1\2/p' /proc/cpuinfo | head -n 1)
}
