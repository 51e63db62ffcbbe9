# What images/boot does with the volumes of its nodes. Sourced behind images/emulator.sh; $work is a folder for what is gone at
# the end.

# What --run adds to a node.yaml. Who was killed before that was put back has left it there.
added='experiment: { file: experiment.yaml } # of images/boot --run'

# check_volume FILE: refuses what is no volume, or is in use, and keeps it from others until the end.
check_volume() {
    local file=$1 folder found kind label
    if ! [ -e "$file" ]; then
        folder=$(dirname "$file")
        { [ -d "$folder" ] && [ -w "$folder" ]; } ||
            usage "the volume $file cannot be made: there is no folder $folder that can be written to"
        return
    fi
    [ -f "$file" ] || [ -b "$file" ] || usage "$file is no volume: expected a file or a disk"
    { [ -r "$file" ] && [ -w "$file" ]; } || usage "the volume $file cannot be read and written"
    keep_volume "$file"
    found=$(blkid --probe --output export "$file" 2>/dev/null) || true
    kind=$(sed -n 's/^TYPE=//p' <<<"$found") label=$(sed -n 's/^LABEL=//p' <<<"$found")
    if [ -z "$kind" ] && [[ $found = *PTTYPE=* ]]; then
        # What is in its partitions is for the node to find.
        ! puts_files || usage "$file has partitions: node.yaml can be put onto a volume without any"
        return
    fi
    [ -n "$kind" ] || usage "$file is no volume: it holds no file system; of a name that is not there yet a volume is made"
    [ "$label" = JITTERLAB ] || [[ $append = *jitterlab.config=* ]] ||
        usage "$file is no volume: its label is not JITTERLAB but ${label:-empty}"
    ! puts_files || [[ $kind = ext[234] ]] || usage "$file holds $kind: node.yaml can be put onto ext4 only"
}

# puts_files: whether node.yaml, or an experiment, is put onto volumes.
puts_files() {
    [ ${#configs[@]} -gt 0 ] || [ "$nodes" -gt 1 ] || [ -n "$run" ]
}

# keep_volume FILE: nobody else may have it.
keep_volume() {
    local lock
    exec {lock}<"$1"
    { flock --nonblock $lock && [ -z "$(losetup --noheadings --output NAME --associated "$1" 2>/dev/null)" ]; } ||
        usage "the volume $1 is in use: another images/boot or a mount has it"
}

# volume_file N: sets $disk to where the volume of a node is, or is to be; to nothing where it has none.
volume_file() {
    disk=$volume
    [ -z "$volume" ] || [ "$nodes" = 1 ] || disk=$volume.$1
}

# no_experiment FILE WHAT: refuses a node.yaml that names one already.
no_experiment() {
    ! grep -q '^experiment:' "$1" || usage "$2 has an experiment already: leave --run out"
}

# accepted WHAT COMMAND…: refuses what jitterlab refuses.
accepted() {
    local what=$1
    shift
    target/release/jitterlab "$@" >/dev/null 2>"$work/said" || usage "$what: $(said "$work/said" | sed 's/^jitterlab: //')"
}

# node_file N: writes what node N is to be to $work/node.yaml, if there is anything to say.
node_file() {
    local given=$((${#configs[@]} < $1 ? ${#configs[@]} : $1))
    rm -f "$work/node.yaml"
    if [ "$given" -gt 0 ]; then
        cp "${configs[given - 1]}" "$work/node.yaml"
    elif [ "$nodes" -gt 1 ]; then
        printf '%s\n' "hostname: node$1" "device: $lab" \
            "addresses: { $outer: dhcp, $lab: 10.106.0.$1/24 }" >"$work/node.yaml"
    elif [ -e "$work/former" ]; then
        no_experiment "$work/former" "the node.yaml of $volume"
        accepted "the node.yaml of $volume" boot check "$work/former"
        cp "$work/former" "$work/node.yaml"
    fi
    if [ "$1" = 1 ] && [ -n "$run" ]; then
        printf '\n%s\n' "$added" >>"$work/node.yaml"
        accepted "the node.yaml with the experiment" boot check "$work/node.yaml"
    fi
}

# said FILE: the last that a program has said.
said() {
    grep -v '^[[:space:]]*$' "$1" | tail -n 1 | grep . || echo "it has not said why"
}

# mended DISK: what was begun on it when the power was cut is ended.
mended() {
    # 1: it was.
    e2fsck -p "$1" >"$work/e2fsck" 2>&1 || [ $? = 1 ] ||
        stop "the file system of the volume $1 is damaged; e2fsck $1 mends it: $(said "$work/e2fsck")"
}

# former DISK: copies the node.yaml that its volume has to $work/former, if it has one that says anything.
former() {
    debugfs -R "dump node.yaml $work/former" "$1" >"$work/debugfs" 2>&1 || true
    [ -e "$work/former" ] || return 0
    if grep -qxF "$added" "$work/former"; then
        grep -vxF "$added" "$work/former" >"$work/rest" || true
        mv "$work/rest" "$work/former"
    fi
    grep -q '[^[:space:]]' "$work/former" || rm "$work/former"
}

# put_back DISK: the node.yaml that was there before.
put_back() {
    mended "$1"
    if [ -e "$work/former" ]; then
        put "$work/former" node.yaml "$1"
    else
        debugfs -w -R 'rm node.yaml' "$1" >"$work/debugfs" 2>&1 || true
    fi
}

# put FILE NAME DISK: onto the file system of a disk, under another name.
put() {
    cp "$1" "$work/put"
    printf 'rm %s\nwrite %s %s\ndump %s %s\n' "$2" "$work/put" "$2" "$2" "$work/got" >"$work/commands"
    debugfs -w -f "$work/commands" "$3" >"$work/debugfs" 2>&1 || true
    cmp --quiet "$work/put" "$work/got" || stop "$2 cannot be put onto the volume $3: $(said "$work/debugfs")"
    rm "$work/got"
}

# make_volume FILE: one that nobody has made meanwhile.
make_volume() {
    (set -o noclobber && : >"$1") 2>"$work/said" || stop "the volume $1 cannot be made: $(said "$work/said")"
    keep_volume "$1"
    { truncate --size=256M "$1" && mke2fs -q -t ext4 -L JITTERLAB "$1"; } 2>"$work/said" || {
        rm "$1"
        stop "the volume $1 cannot be made: $(said "$work/said")"
    }
}

# volume_of N: sets $disk to the volume of a node, with its node.yaml and its experiment on it; to nothing where it
# has none.
volume_of() {
    volume_file "$1"
    if [ "$1" = 1 ] && [ -n "$run" ] && [ -e "$disk" ]; then
        mended "$disk"
        former "$disk"
    fi
    node_file "$1"
    if [ -z "$disk" ]; then
        [ -e "$work/node.yaml" ] || return 0
        disk=$work/volume.$1
    fi
    if [ ! -e "$disk" ]; then
        make_volume "$disk"
    elif [ -e "$work/node.yaml" ]; then
        mended "$disk"
    fi
    if [ -e "$work/node.yaml" ]; then
        put "$work/node.yaml" node.yaml "$disk"
    fi
    if [ "$1" = 1 ] && [ -n "$run" ]; then
        put "$run" experiment.yaml "$disk"
    fi
}
