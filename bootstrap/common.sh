# What bootstrap/run and bootstrap/test share. Sourced, with the working directory at the root.

say() {
    printf '==> %s\n' "$*" >&2
}

stop() {
    printf 'bootstrap: %s\n' "$*" >&2
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
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root='sudo -n'
    else
        stop "these Debian packages are missing:$missing
bootstrap: install them as root (apt-get install$missing), then run this again"
    fi
    say "installing Debian packages:$missing"
    # Lists that are too old name files that are gone: fetch them, and try once more.
    # shellcheck disable=SC2086 # lists of words
    install_packages $missing || {
        $as_root apt-get update -q >&2 && install_packages $missing
    } || stop "apt-get could not install:$missing"
    case " $missing " in
    *' redis-server '*) stop_redis ;;
    esac
}

install_packages() {
    # shellcheck disable=SC2086 # empty, or sudo and its option
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@" >&2
}

# Its package starts a service that nobody has asked for; the experiment starts a server of its own.
stop_redis() {
    if [ -d /run/systemd/system ]; then
        # shellcheck disable=SC2086
        $as_root systemctl disable --now redis-server.service >&2 || true
    fi
}
