# mutate.awk -- the mutants of a definition, one a line:
#
#     LINE <tab> COLUMN <tab> OLD <tab> NEW <tab> FUNCTION
#
# usage: awk -f tools/mutate.awk FILE                      the list
#        awk -v switched=yes -f tools/mutate.awk FILE      the source, with a switch for each
#
# Every function of the file is mutated except REF(..._forward): the backward
# functions, helpers they share with forward, AdamW, and clipping; and so are the
# file's own constants.  What counts, in the bodies of those functions and behind
# the `=` of the constants, outside comments:
#
#     + <-> -    a plus or minus, a sign too; ++ and -- do not count
#     * <-> /    a star behind a number, a name, ) or ]; behind a type's name
#                or any other sign it belongs to a pointer and does not count
#     += to -= and =    -= to += and =    *= to /= and =    /= to *= and =
#     < <-> <=   > <-> >=   == <-> !=
#     numbers    c to c+1; where c is not 0, to 0; where c has a point or an
#                exponent, to c * 1.001
#
# With switches the source computes mutant N, the list's line N, while VT_KNOCKED(N) holds:
# an expression E with mutants becomes  (VT_KNOCKED(1) ? (E1) : VT_KNOCKED(2) ? (E2) : (E)),
# and an assignment that is changed at its sign or left of it becomes one as a whole.  A constant
# of the file becomes a macro: its initialiser could not ask.  Lines keep their numbers; an
# expression of several stands on its last.
BEGIN {
    FS = "\n"
    split("void char int long float double scalar size_t const", words, " ")
    for (i in words) is_type[words[i]] = 1
    swap["+"] = "-";   swap["-"] = "+";   swap["*"] = "/";   swap["/"] = "*"
    swap["+="] = "-= ="; swap["-="] = "+= ="; swap["*="] = "/= ="; swap["/="] = "*= ="
    swap["<"] = "<=";  swap["<="] = "<";  swap[">"] = ">=";  swap[">="] = ">"
    swap["=="] = "!="; swap["!="] = "=="
}

function emit(column, old, new)
{
    if (!switched) print FNR "\t" column "\t" old "\t" new "\t" name
    number++
    at_token[++changes] = tokens
    becomes[changes] = new
    number_of[changes] = number
}

# The length of the token that s starts with.
function token_length(s)
{
    if (match(s, /^[A-Za-z_][A-Za-z_0-9]*/)) return RLENGTH
    if (match(s, /^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?[fFlLuU]*/)) return RLENGTH
    if (match(s, /^(<<=|>>=)/)) return 3
    if (match(s, /^(->|[+][+]|--|[-+*\/<>=!]=|&&|[|][|]|<<|>>)/)) return 2
    return 1
}

function mutate(column, t,    list, n, k)
{
    if (t ~ /^[.]?[0-9]/) {
        emit(column, t, "(" t " + 1)")
        if (t + 0 != 0) emit(column, t, "0")
        if (t ~ /[.eE]/) emit(column, t, "(" t " * 1.001)")
        return
    }
    if (!(t in swap)) return
    if (t == "*" && !(before ~ /^[.0-9A-Za-z_)\]]/ && !(before in is_type))) return
    n = split(swap[t], list, " ")
    for (k = 1; k <= n; k++) emit(column, t, list[k])
}

# The tokens of `line` from a column on; `before` is the token before.
function scan(at,    rest, step, t)
{
    if (!held) tokens = changes = 0
    for (; at <= length(line); at += step) {
        rest = substr(line, at)
        step = 1
        if (rest ~ /^[ \t]/) continue
        step = token_length(rest)
        t = substr(rest, 1, step)
        token[++tokens] = t
        mutate(at, t)
        before = t
    }
}

# Tokens a to b, the change c among them made (0: none).
function text_of(a, b, c,    i, s)
{
    for (i = a; i <= b; i++) s = s " " (c && at_token[c] == i ? becomes[c] : token[i])
    return s
}

# The expression of tokens a to b with its switches.
function choice(a, b,    c, s)
{
    for (c = 1; c <= changes; c++)
        if (at_token[c] >= a && at_token[c] <= b)
            s = s "VT_KNOCKED(" number_of[c] ") ? (" text_of(a, b, c) ") : "
    return s == "" ? text_of(a, b, 0) : " (" s "(" text_of(a, b, 0) "))"
}

# The assignment of tokens a to b with the operator at token `sign`.
function assignment(a, sign, b,    c, s, value)
{
    value = choice(sign + 1, b)
    for (c = 1; c <= changes; c++)
        if (at_token[c] >= a && at_token[c] <= sign)
            s = s "VT_KNOCKED(" number_of[c] ") ? (" text_of(a, sign, c) value ") : "
    value = text_of(a, sign, 0) value
    return s == "" ? value : " (" s "(" value "))"
}

# The scanned tokens as a line, held where the last expression goes on behind it.  One ends
# at a sign outside its own brackets; the brackets of for, if and while are nobody's.
function switched_line(    i, t, a, sign, depth, s)
{
    a = 1
    for (i = 1; i <= tokens; i++) {
        t = token[i]
        if (t == "(" && token[i - 1] ~ /^(for|if|while)$/) { s = s text_of(a, i, 0); a = i + 1; continue }
        if (t ~ /^(return|else)$/)                         { s = s text_of(a, i, 0); a = i + 1; continue }
        if (t ~ /^[(\[]$/) depth++
        if (depth && t ~ /^[)\]]$/) { depth--; continue }
        if (depth) continue
        if (t ~ /^[-+*\/]?=$/) sign = i
        if (t !~ /^[;,{})]$/) continue
        s = s (sign ? assignment(a, sign, i - 1) : choice(a, i - 1)) " " t
        a = i + 1
        sign = 0
    }
    held = a <= tokens
    return s
}

# Comments become blanks, so that columns stay.
function without_comments(s,    out, c2)
{
    out = ""
    while (s != "") {
        c2 = substr(s, 1, 2)
        if (!comment && c2 == "//") return out
        if (!comment && c2 == "/*") { comment = 1; out = out "  "; s = substr(s, 3); continue }
        if (comment && c2 == "*/")  { comment = 0; out = out "  "; s = substr(s, 3); continue }
        out = out (comment ? " " : substr(s, 1, 1))
        s = substr(s, 2)
    }
    return out
}

{ line = without_comments($0) }

!body && match(line, /REF\([a-z_0-9]+\)\(/)          { name = substr(line, RSTART + 4, RLENGTH - 6) }
!body && !/REF\(/ && match(line, /^static [^=;(]*[ *][a-z_0-9]+\(/) {
    name = substr(line, 1, RLENGTH - 1)
    sub(/.*[ *]/, "", name)
}
!body && match(line, /^static const [^=]*=/) {
    name = "constant"
    split(substr(line, 1, RLENGTH - 1), part, " ")          # static const TYPE NAME
    scan(RLENGTH + 1)
    if (switched) {
        print "#define " part[4] " ((" part[3] ")(" choice(1, tokens - 1) "))"
        next
    }
}
/^{/ { body = 1; mutable = name !~ /_forward$/; before = "" }
/^}/ { body = 0 }

body && mutable && line !~ /^[#{]/ {
    scan(1)
    if (switched) {
        text = switched_line()
        print held ? "" : changes ? text : $0
    }
    next
}
switched
END { if (held) { print FILENAME ": an expression does not end" > "/dev/stderr"; exit 1 } }
