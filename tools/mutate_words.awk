# mutate_words.awk -- a fast kernel with a switch in each word of simd.h that computes.
#
# usage: awk -v first=N -v list=FILE -f tools/mutate_words.awk SOURCE
#
# A word, outside comments and #-lines, becomes MUTANT(NUMBER, WORD, OTHER), numbered from
# N on; OTHER is what it is mistaken for.  FILE gets a line for each:
#
#     NUMBER <tab> LINE <tab> WORD <tab> OTHER
#
# What is mistaken for what: a sum for a difference, a product for a sum, a quotient for a
# product, the larger for the smaller, and back; a multiply-add forgets its sign, or what
# it adds to; a root, a sign and a power of two are left out; a constant is 1 % and 0.01 larger, an
# infinite one 0; what starts from 0 starts from 1; a choice is the other one.  (Not the order of `<` and `<=`:
# where both sides are equal, so is most often the result.)
BEGIN {
    split("vec_add:vec_sub vec_sub:vec_add vec_mul:vec_add vec_div:vec_mul vec_max:vec_min vec_min:vec_max " \
          "vec_fma:vec_fnma vec_fma:mutant_forgets vec_fnma:vec_fma vec_neg:mutant_same vec_abs:mutant_same " \
          "vec_sqrt:mutant_same vec_scale2:mutant_first vec_select:mutant_other vec_sum:vec_hmax vec_hmax:vec_sum " \
          "vec_set1:mutant_more vec_zero:mutant_one vecd_add:mutant_first_d vecd_mul:vecd_add vecd_fma:mutant_forgets_d " \
          "vecd_zero:mutant_one_d vecd_low:vecd_high vecd_high:vecd_low", pairs)
    for (i = 1; i in pairs; i++) {
        split(pairs[i], pair, ":")
        others[pair[1]] = others[pair[1]] " " pair[2]
    }
    number = first
}

# Several mutants of one word nest.
function switched(word,    n, k, other, text) {
    n = split(others[word], other, " ")
    text = word
    for (k = 1; k <= n; k++) {
        text = "MUTANT(" number ", " text ", " other[k] ")"
        printf "%d\t%d\t%s\t%s\n", number++, FNR, word, other[k] > list
    }
    return text
}

{
    rest = $0
    out = ""
    if (!comment && rest ~ /^[ \t]*#/) { print; next }
    while (rest != "") {
        if (comment) {
            end = index(rest, "*/")
            if (!end) { out = out rest; break }
            out = out substr(rest, 1, end + 1)
            rest = substr(rest, end + 2)
            comment = 0
        } else if (rest ~ /^\/\*/) {
            comment = 1
        } else if (match(rest, /^[A-Za-z_][A-Za-z_0-9]*/)) {
            word = substr(rest, 1, RLENGTH)
            rest = substr(rest, RLENGTH + 1)
            out = out ((word in others) && rest ~ /^\(/ ? switched(word) : word)
        } else {
            out = out substr(rest, 1, 1)
            rest = substr(rest, 2)
        }
    }
    print out
}
