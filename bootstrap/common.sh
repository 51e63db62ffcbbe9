# What the scripts of bootstrap and images share. Sourced, with the working directory at the root, and $program set to the
# script's path from there.
: "${program:=$0}"

say() {
    printf '==> %s\n' "$*" >&2
}

# show_help: what --help prints: the comment that the script begins with.
show_help() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$program"
}

# usage MESSAGE: what is asked for is wrong. It is said in one line, before anything has begun.
usage() {
    printf '%s: %s\n' "$program" "$*" >&2
    exit 2
}

# unknown WORD: of one that the script does not know.
unknown() {
    usage "unknown: $1; $program --help lists what there is"
}

# value OPTION ARGUMENTS…: refuses an option without a value; the next option is none.
value() {
    case ${2-} in
    '' | --*) usage "$1 needs a value" ;;
    esac
}

# path PATH: relative to where the caller was, which is $from.
path() {
    case $1 in
    /*) echo "$1" ;;
    *) echo "$from/$1" ;;
    esac
}

# number OPTION VALUE MOST: refuses what is no number from 1 to that.
number() {
    case $2 in
    '' | 0* | *[!0-9]* | ??????????*) false ;;
    *) [ "$2" -le "$3" ] ;;
    esac || usage "$1 is a number from 1 to $3, not $2"
}

# readable FILE WHAT: refuses what is no file that can be read.
readable() {
    [ -e "$1" ] || usage "there is no $2 $1"
    { [ -f "$1" ] && [ -r "$1" ]; } || usage "cannot read the $2 $1: expected a file"
}

# stop MESSAGE: it cannot be done.
stop() {
    printf '%s: %s\n' "$program" "$*" >&2
    exit 3
}

# need_rust: the toolchain is rustup's; a fresh machine has it, or is told how to get it.
need_rust() {
    if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
        PATH="$HOME/.cargo/bin:$PATH"
    fi
    command -v cargo >/dev/null ||
        stop "no Rust toolchain; install one with rustup (https://rustup.rs), 1.89 or newer"
}

# need_packages NAME…: Debian packages, installed if they are missing.
need_packages() {
    command -v dpkg-query >/dev/null ||
        stop "this is no Debian system; jitterlab needs what these packages hold: $*"
    missing=
    for package; do
        case $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    become_root ||
        stop "these Debian packages are missing; install them as root, and run this again: apt-get install$missing"
    say "installing Debian packages:$missing"
    # Lists that are too old name files that are gone: fetch them, and try once more.
    # shellcheck disable=SC2086 # lists of words
    install_packages $missing || {
        $as_root apt-get update -q >&2 && install_packages $missing
    } || stop "apt-get could not install:$missing"
    for service in redis-server munge nginx memcached mosquitto haproxy lighttpd; do
        case " $missing " in
        *" $service "*) stop_service "$service" ;;
        esac
    done
}

# need_builders: cargo, a linker, and what the bindings of libibverbs and MPI are made by.
need_builders() {
    need_rust
    need_packages gcc libc6-dev make cmake libclang-dev
}

# build_jitterlab [OPTIONS OF cargo build]: all programs and libraries, in target/release. Every script builds the same packages: which
# features of a library cargo builds depends on the packages, and with other features it builds all that uses the library anew.
build_jitterlab() {
    use_mpi
    # shellcheck disable=SC2086 # empty, or an option and its value
    cargo build --release --workspace $mpi "$@" || stop "cargo could not build jitterlab: see above"
}

# become_root: sets $as_root to what stands before a command that root has to run, if there is such a thing.
become_root() {
    as_root=
    [ "$(id -u)" != 0 ] || return 0
    as_root='sudo -n'
    command -v sudo >/dev/null && sudo -n true 2>/dev/null
}

# use_mpi: sets $mpi to what makes cargo leave out what needs an MPI, where there is none.
use_mpi() {
    mpi='--exclude jitterlab-mpi'
    if has_mpi || { (need_packages libopenmpi-dev openmpi-bin) && has_mpi; }; then
        mpi=
    fi
    [ -z "$mpi" ] || say "going on without MPI: jitterlab-mpi is not built, and experiments that need it say so"
}

# use_ansible: Ansible and its lint of PyPI, in target/ansible.
use_ansible() {
    [ -x target/ansible/bin/ansible-lint ] || {
        python3 -m venv target/ansible &&
            target/ansible/bin/pip install --quiet --disable-pip-version-check ansible-core ansible-lint
    } >&2
}

# Any MPI will do: what compiles for it, and what starts ranks.
has_mpi() {
    command -v "${MPICC:-mpicc}" >/dev/null && command -v mpirun >/dev/null
}

# available NAME…: those of these packages that this release of Debian has.
available() {
    for package; do
        [ -z "$(candidate "$package")" ] || printf '%s ' "$package"
    done
}

# The first number of the version of a package that apt would install.
candidate() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9]*:\)\{0,1\}\([0-9]*\).*/\2/p'
}

install_packages() {
    # shellcheck disable=SC2086 # empty, or sudo and its option
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 "$@" >&2
}

# stop_service NAME: a package starts a service that nobody has asked for; experiments and tests start one of their own.
stop_service() {
    if [ -d /run/systemd/system ]; then
        # shellcheck disable=SC2086
        $as_root systemctl disable --now "$1.service" >&2 || true
    fi
}
