# Counts tests: reads what `cargo test` and images/test have printed, prints what was skipped and why, and at last, alone on
# a line, "N passed, N failed, N skipped".
#
#   awk -v status=STATUS -f bootstrap/count.awk LOG
#
# A test that has skipped something (bootstrap/skip) counts as skipped, and not as passed. STATUS other than 0 says that
# something failed, be it a test program that crashed and counted nothing.

{ gsub(/\033\[[0-9;]*m/, "") }

/^test result: / { passed += $4; failed += $6 }

# Scenarios of images/test. The skipped ones are taken away below, as those of libtest are.
/^==> [0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $2 + $6; failed += $4 }

# libtest lists them at last.
/^failures:$/ { in_list = 1 }
/^test result: / { in_list = 0 }
in_list && /^    [^ ]+$/ { has_failed[$1] = 1 }

# With one test at a time libtest has begun the line.
match($0, /(^|^test .* \.\.\. )skipped( part)?: [^ ]+: /) {
    sub(/^test .* \.\.\. /, "")
    is_part = /^skipped part/
    sub(/^skipped( part)?: /, "")
    name = substr($0, 1, index($0, ": ") - 1)
    reason = substr($0, index($0, ": ") + 2)
    if (name in reasons) {
        if (index("; " reasons[name] "; ", "; " reason "; ") == 0) reasons[name] = reasons[name] "; " reason
    } else {
        reasons[name] = reason
        names[++count] = name
        # These are not among what libtest has counted as passed.
        beside[name] = is_part
    }
}

END {
    for (i = 1; i <= count; i++) {
        name = names[i]
        test = name
        sub(/^[^:]*::/, "", test)
        if (test in has_failed) continue
        skipped++
        if (!beside[name]) passed--
        print "skipped: " name ": " reasons[name]
    }
    if (status + 0 != 0 && failed == 0) failed = 1
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
}
