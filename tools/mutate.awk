# mutate.awk -- the mutants of a definition, one a line:
#
#     LINE <tab> COLUMN <tab> OLD <tab> NEW <tab> FUNCTION
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
    print FNR "\t" column "\t" old "\t" new "\t" name
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
    for (; at <= length(line); at += step) {
        rest = substr(line, at)
        step = 1
        if (rest ~ /^[ \t]/) continue
        step = token_length(rest)
        t = substr(rest, 1, step)
        mutate(at, t)
        before = t
    }
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
!body && match(line, /^static const [^=]*=/)          { name = "constant"; scan(RLENGTH + 1) }
/^{/ { body = 1; mutable = name !~ /_forward$/; before = ""; next }
/^}/ { body = 0; next }

body && mutable && line !~ /^#/ { scan(1) }
