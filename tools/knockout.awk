# knockout.awk -- a source with a switch in each of some lines: the line LINE computes
# nothing while VT_KNOCKED(NUMBER) holds.
#
# usage: awk -v switches='LINE=NUMBER ...' -f tools/knockout.awk FILE
#
# A labelled line ends one assignment, initialisation, return or call.  What stands on
# the right of an assignment sign outside all brackets, or behind return, becomes
#     VT_KNOCKED(NUMBER) ? 0 : (...)
# and anything else, a call, becomes  if (!VT_KNOCKED(NUMBER)) ... .  Lines keep their
# numbers.  No switch can stand in the initialiser of a static object: that does not compile.
#
# Exit status: 1 when a line ends no such statement; it is named on standard error.
BEGIN {
    n = split(switches, list, " ")
    for (i = 1; i <= n; i++) { split(list[i], pair, "="); number[pair[1]] = pair[2] }
}

# A statement may have begun on the lines before.
function goes_on(text, next_text) {
    sub(/[ \t]*\/\*.*\*\/[ \t]*$/, "", text)
    return text ~ /[,=(]$/ || (next_text ~ /^[ \t]*[-+\/&|?:]/ && next_text !~ /^[ \t]*(\+\+|--)/)
}

# The place of the assignment sign outside all brackets before `end`, or 0.
function assignment(text, end,    i, c, depth) {
    for (i = 1; i < end; i++) {
        c = substr(text, i, 1)
        if (c ~ /[(\[{]/) depth++
        if (c ~ /[)\]}]/) depth--
        if (depth || c != "=") continue
        if (substr(text, i + 1, 1) == "=" || substr(text, i - 1, 1) ~ /[=!<>]/) { i++; continue }
        return i
    }
    return 0
}

# The text up to `at` stays, then comes the value, up to the semicolon at `end`.
function knock(text, at, end) {
    return substr(text, 1, at) " VT_KNOCKED(" number[FNR] ") ? 0 : (" \
        substr(text, at + 1, end - at - 1) ")" substr(text, end)
}

{ line[FNR] = $0 }

FNR in number {
    text = $0
    for (i = FNR - 1; i > 0 && line[i] != "" && goes_on(line[i], text); i--) {
        sub(/^[ \t]+/, "", text)
        text = line[i] " " text
        line[i] = ""
    }
    end = match(text, /;[ \t]*\/\*[^*]*\*\/$/)
    if (!end) { print FILENAME ":" FNR ": cannot be knocked out" > "/dev/stderr"; bad = 1; exit }
    if (at = assignment(text, end))       text = knock(text, at, end)
    else if (match(text, /^[ \t]*return /)) text = knock(text, RLENGTH, end)
    else {
        match(text, /^[ \t]*/)
        text = substr(text, 1, RLENGTH) "if (!VT_KNOCKED(" number[FNR] ")) " substr(text, RLENGTH + 1)
    }
    line[FNR] = text
}

END {
    if (bad) exit 1
    for (i = 1; i <= FNR; i++) print line[i]
}
