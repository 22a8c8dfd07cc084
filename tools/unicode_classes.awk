# unicode_classes.awk -- UnicodeData.txt -> build/generated/unicode_classes.inc,
# the class of every code point as presplit.c reads it.
#
#   1 letter   general category L*
#   2 number   general category N*
#   3 space    White_Space: categories Z*, U+0009..000D and U+0085 (that this is
#              the property's whole list is PropList.txt's, Unicode 15)
#   0 other    all else, code points that are not assigned among it
#
# Two stages: class_page[code point / 256] is a row of class_bits, in which a
# code point has 2 bits, the lowest of a byte first.  Rows that are equal are
# stored once.  Format of the input: UAX #44, section 4.2; ranges are two lines,
# "<..., First>" and "<..., Last>".
function hex(text,    i, value) {
    value = 0
    for (i = 1; i <= length(text); i++)
        value = value * 16 + index("0123456789ABCDEF", substr(text, i, 1)) - 1
    return value
}
BEGIN { FS = ";"; class["L"] = 1; class["N"] = 2; class["Z"] = 3 }
{
    last = hex($1)
    first = $2 ~ /, Last>$/ ? begun : last
    if ($2 ~ /, First>$/) begun = last
    kind = substr($3, 1, 1)
    if (kind in class)
        for (c = first; c <= last; c++) { of[c] = class[kind]; used[int(c / 256)] = 1 }
    lines++
}
END {
    for (c = 9; c <= 13; c++) of[c] = 3
    of[133] = 3
    if (lines < 30000 || last != 1114109 || of[65] != 1 || of[19968] != 1 || of[12288] != 3) {
        print "unicode_classes.awk: " FILENAME ": not the UnicodeData.txt expected" > "/dev/stderr"
        exit 1
    }
    rows = 0
    for (page = 0; page < 4352; page++) {
        row = ""
        if (page in used)
            for (c = page * 256; c < page * 256 + 256; c += 4)
                row = row (of[c] + of[c+1] * 4 + of[c+2] * 16 + of[c+3] * 64) ","
        if (!(row in number)) { text[rows] = row; number[row] = rows++ }
        stage = stage number[row] (page % 16 == 15 ? ",\n" : ",")
    }
    if (rows > 256) { print "unicode_classes.awk: rows do not fit a byte" > "/dev/stderr"; exit 1 }
    print "/* Made by tools/unicode_classes.awk from UnicodeData.txt: do not edit. */"
    print "static const unsigned char class_page[4352] = {\n" stage "};"
    print "static const unsigned char class_bits[" rows "][64] = {"
    for (i = 0; i < rows; i++) print "{" (text[i] == "" ? "0" : text[i]) "},"
    print "};"
}
