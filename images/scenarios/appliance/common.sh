# What the scenarios of the appliance share. Sourced, with the working directory at the root of the tree.
program=images/scenarios/appliance/${0##*/}
. bootstrap/common.sh
. images/guest/files/usr/lib/jitterlab-guest/checks

# begin NAME: makes $work, for what is gone at the end, and $logs, for what is kept.
begin() {
    scenario=$1
    # shellcheck disable=SC2034 # of `is`
    BOOT=1
    logs=target/images/logs/$scenario
    work=$(mktemp -d)
    node=''
    trap '[ -z "$node" ] || kill "$node" 2>/dev/null; rm -rf "$work"' EXIT
    trap 'exit 3' INT TERM
    rm -rf "$logs"
    mkdir -p "$logs"
    mkfifo "$work/keys"
    need_packages openssh-client e2fsprogs
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/key"
}

# skip REASON: it cannot be tried on this machine, and counts as skipped.
skip() {
    echo "skipped: $1"
    exit 77
}

# free_port [N]: a port of loopback that nobody listens at; the first of N in a row.
free_port() {
    local port n=0
    while [ $n -lt "${1-1}" ]; do
        port=$((20000 + RANDOM % 12000))
        for ((n = 0; n < ${1-1}; n++)); do
            ! (exec 3<>"/dev/tcp/127.0.0.1/$((port + n))") 2>/dev/null || break
        done
    done
    echo "$port"
}

# start OPTIONS…: boots the appliance; its serial line is $log, and what `press` is given is typed there.
start() {
    log=$logs/boot$BOOT/node1.log
    mkdir -p "${log%/*}"
    images/boot --console --timeout 900 --log "${log%/*}" "$@" <"$work/keys" >/dev/null &
    node=$!
    # Open for reading as well: whoever types to a node that is gone does not die of it.
    exec {keys}<>"$work/keys"
}

# press LINE
press() {
    printf '%s\n' "$1" >&"$keys"
}

runs() {
    kill -0 "$node" 2>/dev/null
}

# shown TEXT: waits until the serial line has shown it; fails when the node is gone first.
shown() {
    until grep -qaF -- "$1" "$log" 2>/dev/null; do
        if ! runs; then
            # It may have been the last it said.
            grep -qaF -- "$1" "$log" 2>/dev/null
            return
        fi
        sleep 0.2
    done
}

# has_shown WHAT TEXT: the same as a check.
has_shown() {
    shown "$2" || true
    is "$1" "$(grep -acF -- "$2" "$log" | sed 's/^[1-9].*/shown/')" shown
}

# shell: takes the shell that the serial line offers.
shell() {
    shown 'Enter: terminal UI; anything else: a shell' || true
    press shell
}

# terminal WHAT: somebody who sits there, and has taken the shell, can work.
terminal() {
    shown 'root@' || true
    # What is typed is shown as well, and is not what is waited for.
    press "echo alive-\$((6 * 7))"
    has_shown "$1: the terminal" alive-42
}

# ended WHAT: waits for the end of the node, which has to be in order; the next one is another boot.
ended() {
    local status=0
    wait "$node" || status=$?
    exec {keys}<&-
    node=''
    is "$1" $status 0
    BOOT=$((BOOT + 1))
}

# remote COMMAND: in the node, by ssh with the key.
remote() {
    given /dev/null "$@"
}

# given FILE COMMAND: the same, with a file on its stdin.
given() {
    local file=$1
    shift
    ssh -q -p "$port" -i "$work/key" -o IdentitiesOnly=yes -o BatchMode=yes -o ConnectTimeout=60 \
        -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile="$work/known_hosts" root@127.0.0.1 "$@" <"$file"
}

# ready: waits until the node has come to the end of its boot.
ready() {
    until remote true 2>/dev/null; do
        runs || return 0
        sleep 0.5
    done
    remote systemctl start jitterlab-boot.service
}

# told: what the boots said at their ends, for whoever reads the output of the tests.
told() {
    local file
    for file in "$logs"/boot*/node*.log; do
        echo "# $file: $(wc -l <"$file") lines"
        tr -d '\r' <"$file" | sed -n -e 's/^\[[ 0-9.]*\] jitterlab\[[0-9]*\]: /# /p' \
            -e '/^[a-z0-9-]*: Linux /,/^Enter: terminal UI/{/^Enter: /d;s/^/# /p}'
    done
}

# whole FILE: the file system of a volume needs no mending but what its journal does by itself.
whole() {
    cp --sparse=always "$1" "$work/whole"
    e2fsck -p "$work/whole" >"$work/e2fsck" 2>&1
    # 1: what was deleted while it was open is put away.
    is "the volume's journal is enough" "$(($? & ~1))" 0
    e2fsck -fn "$work/whole" >"$work/e2fsck" 2>&1
    is "the volume is whole" $? 0
    rm "$work/whole"
}
