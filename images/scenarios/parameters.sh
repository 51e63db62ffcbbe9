# Runs in the guest: kernel parameters that others give as well, and what the kernel makes of them.
#
#   boot 1  an isolcpus= of the site's stands in a file of GRUB's: ours is refused, and that file named; both by hand
#   boot 2  the kernel has kept the first: this is said. The site's parameters mean what ours do
#   boot 3  they are in force, and nothing is written for them
set -uo pipefail

jitterlab=$SHARE/jitterlab
only=isolcpus,nohz_full,skew_tick
site=/etc/default/grub.d/50-site.cfg
ours=/etc/default/grub.d/95-jitterlab.cfg

tune() {
    "$jitterlab" tune "$@" --format json 2>/dev/null
}

# stands SETTING: its state, and the first thing that is said of it, of the JSON on stdin.
stands() {
    awk -v name="\"$1\"," '
        $1 == "\"name\":" { found = $2 == name }
        found && $1 == "\"state\":" { gsub(/[",]/, "", $2); state = $2 }
        found && noted { gsub(/^ *"|",?$/, ""); print state ": " $0; exit }
        found && $1 == "\"notes\":" { if ($2 ~ /^\[\]/) { print state; exit } noted = 1 }'
}

begins() { # begins WHAT TEXT START
    is "$1" "${2:0:${#3}}" "$3"
}

add() { # add FILE PARAMETERS
    printf "GRUB_CMDLINE_LINUX=\"\$GRUB_CMDLINE_LINUX \"'%s'\n" "$2" >"$1"
}

case $BOOT in
1)
    mkdir -p ${site%/*}
    add $site isolcpus=3
    tune plan --ranks 1 --only $only >plan
    begins "isolcpus" "$(stands isolcpus <plan)" "conflict: $site, line 1, has isolcpus=3, and of several isolcpus= the kernel heeds the first"
    begins "nohz_full" "$(stands nohz_full <plan)" "conflict: $site, line 1, has isolcpus=3, and nohz_full= must name the same CPUs"
    tune apply --ranks 1 --only $only >applied
    is "apply finds something" $? 1
    is "what is not in conflict is written" "$(tail -n 1 $ours)" 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT skew_tick=1"'
    is "it waits for the reboot" "$(stands skew_tick <applied)" reboot
    cpus=$(sed -n 's/.*"measuring": "\(.*\)",/\1/p' plan)
    echo "$cpus" >/var/tmp/cpus
    # What used to be written.
    sed -i "s/skew_tick=1/& isolcpus=managed_irq,domain,$cpus/" $ours
    update-grub 2>/dev/null
    ;;
2)
    read -r cpus </var/tmp/cpus
    is "the kernel was told twice" "$(grep -o 'isolcpus=[^ ]*' /proc/cmdline | paste -sd ' ')" "isolcpus=3 isolcpus=managed_irq,domain,$cpus"
    is "it has kept the first" "$(cat /sys/devices/system/cpu/isolated)" 3
    tune verify >verified
    is "verify finds something" $? 1
    begins "isolcpus" "$(stands isolcpus <verified)" "conflict: $site, line 1, has isolcpus=3, and"
    is "what is in force" "$("$jitterlab" node show | sed -n 's/^isolcpus *//p')" 3
    is "skew_tick" "$(stands skew_tick <verified)" held
    tune revert --force >reverted
    is "revert" $? 0
    # A list one by one, a space, quotes around all; GRUB hands that to the kernel with quotes of its own.
    add $site "isolcpus=\"domain,managed_irq,$cpus, $cpus\" nohz-full=$cpus,$cpus skew_tick=0x1"
    tune plan --ranks 1 --only $only >plan
    for setting in isolcpus nohz_full; do
        is "$setting is the site's" "$(stands $setting <plan)" change
    done
    update-grub 2>/dev/null
    tune plan --ranks 1 --only $only >plan
    for setting in isolcpus nohz_full; do
        is "$setting comes with the reboot" "$(stands $setting <plan)" reboot
    done
    ;;
3)
    read -r cpus </var/tmp/cpus
    sed 's/^/# /' /proc/cmdline
    is "the kernel got quotes" "$(grep -c '"' /proc/cmdline)" 1
    is "isolated CPUs" "$(cat /sys/devices/system/cpu/isolated)" "$cpus"
    tune plan --ranks 1 --only $only >plan
    for setting in isolcpus nohz_full skew_tick; do
        is "$setting" "$(stands $setting <plan)" held
    done
    tune apply --ranks 1 --only $only >applied
    is "apply" $? 0
    is "nothing is written" "$(ls $ours 2>/dev/null)" ""
    tune verify >/dev/null
    is "verify" $? 0
    tune revert >/dev/null
    is "revert" $? 0
    exit $failed
    ;;
esac

[ $failed = 0 ] || exit 1
restart
