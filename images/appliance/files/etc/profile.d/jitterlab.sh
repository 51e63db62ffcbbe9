# Whoever comes to a terminal, or by ssh, sees how the boot went. The screen begins with the terminal UI. A serial line asks
# first: perhaps nobody is there, and what is written to it is kept. A shell within a shell (SHLVL) is asked for already.
# shellcheck shell=sh disable=SC3028 # where it is not set, it is 1
# Its consoles read UTF-8.
export LANG="${LANG:-C.UTF-8}"
case "${SHLVL:-1} $(tty)" in
"1 /dev/tty1")
    jitterlab ui
    jitterlab boot report
    echo "\`jitterlab ui\` brings the terminal UI back"
    ;;
"1 /dev/ttyS"* | "1 /dev/ttyAMA"* | "1 /dev/ttyUSB"* | "1 /dev/hvc"*)
    jitterlab boot report
    echo "Enter: terminal UI; anything else: a shell"
    if read -r jitterlab_line && [ -z "$jitterlab_line" ]; then
        jitterlab ui
        echo "\`jitterlab ui\` brings the terminal UI back"
    fi
    unset jitterlab_line
    ;;
*)
    jitterlab boot report
    ;;
esac
