# cli_completions.sh -- what three shells complete behind vitrine: their own word for it.
# asan: no, the shells do the work
. "${0%/*}/tap.sh"
for shell in bash zsh fish; do
    exits 0 "completions $shell" "$vitrine" completions $shell
    is "$err" "" "nothing on standard error"
    cp .out vitrine.$shell
    ok "$shell reads it" $shell -n vitrine.$shell
done
refuses 2 "bsh: expected bash, zsh or fish; is bash meant?" "another shell" "$vitrine" completions bsh
refuses 2 "expected bash, zsh or fish" "no shell" "$vitrine" completions

mkdir model "a folder"; : > book.txt; : > "two words.csv"; : > softmax.c
commands=$("$vitrine" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
options() { "$vitrine" "$1" --help | sed -n '/^examples:/q; s/^  \(--[a-z0-9-]*\).*/\1/p'; echo --help; }
sorted() { tr ' ' '\n' | sort; }

# ---- bash: its function, with the words that readline would set
in_bash() {                             # WORD... the last is being completed
    bash --norc --noprofile -c '. ./vitrine.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _vitrine
        printf "%s\n" "${COMPREPLY[@]}"' - vitrine "$@" | sort
}
is "$(in_bash '')" "$( { echo "$commands"; printf '%s\n' --help --version; } | sort)" "bash: commands"
is "$(in_bash tr)" train "bash: tr"
is "$(in_bash help gr)" grade "bash: help gr"
for command in $commands; do
    [ "$command" != help ] || continue
    is "$(in_bash "$command" -)" "$(options "$command" | sort)" "bash: options of $command"
done
is "$(in_bash train --lr-)" --lr-min "bash: --lr-"
is "$(in_bash train --isa '')" "$(echo portable avx2 avx512 neon | sorted)" "bash: kernels"
is "$(in_bash train --isa = av)" "$(echo avx2 avx512 | sorted)" "bash: --isa=av, which readline cuts"
is "$(in_bash train --isa =)" "$(echo portable avx2 avx512 neon | sorted)" "bash: --isa="
is "$(in_bash train --preset ti)" tiny "bash: presets"
is "$(in_bash check --op att)" attention "bash: operators"
is "$(in_bash grade --exercise so)" softmax "bash: exercises"
is "$(in_bash completions '')" "$(echo bash zsh fish | sorted)" "bash: shells"
is "$(in_bash train --data '' | grep -v '^vitrine\.\|^\.')" "$(printf '%s\n' 'a folder' book.txt model softmax.c 'two words.csv' | sort)" \
    "bash: files, and folders to go into"
is "$(in_bash train --data two)" "two words.csv" "bash: a name of two words is one"
is "$(in_bash generate '')" "$(printf 'a folder\nmodel')" "bash: a model is a folder"
is "$(in_bash grade so)" softmax.c "bash: an exercise is a file"
is "$(in_bash train --steps '')" "" "bash: a number is left to the user"
is "$(in_bash train '')" "" "bash: train has no operands"
is "$(in_bash train --json --re)" "$(printf '%s\n' --recompute --refuse-invalid --replace-invalid --reschedule --resume)" "bash: behind a flag"
ok "bash: it is for vitrine" bash --norc --noprofile -c '. ./vitrine.bash; complete -p vitrine | grep -q _vitrine'

# ---- fish: its own complete
in_fish() {
    HOME=$tmp XDG_CONFIG_HOME=$tmp XDG_DATA_HOME=$tmp fish --no-config \
        -c 'complete -e -c vitrine; source vitrine.fish; complete -C $argv[1]' "$1" | cut -f 1 | sed 's,/$,,' | sort
}
is "$(in_fish 'vitrine tr')" train "fish: tr"
is "$(in_fish 'vitrine ')" "$commands" "fish: commands"
is "$(in_fish 'vitrine train --lr')" "$(printf '%s\n' --lr --lr-min)" "fish: --lr"
for command in train lab; do
    is "$(in_fish "vitrine $command --")" "$(options $command | sort)" "fish: options of $command"
done
is "$(in_fish 'vitrine train --isa ')" "$(echo portable avx2 avx512 neon | sorted)" "fish: kernels"
is "$(in_fish 'vitrine check --op att')" attention "fish: operators"
is "$(in_fish 'vitrine train --data bo')" book.txt "fish: files"
is "$(in_fish 'vitrine generate mo')" model "fish: a model is a folder"
is "$(in_fish 'vitrine train --out ' | grep -c book)" 0 "fish: a file is no folder"
is "$(in_fish 'vitrine completions ')" "$(echo bash fish zsh | sorted)" "fish: shells"

# ---- zsh: a line typed into a terminal of its own, with tabs, and what came of it
cat > typed.zsh <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1= PS2=; autoload -U compinit; compinit -u -D; source ./vitrine.zsh
    vitrine() { print -r -- GO\T \"\${(@qq)@}\" }; print -r -- REA\DY"
zpty -r z answer "*READY*"
for line; do
    zpty -w z "$line"
    zpty -r z answer $'*GOT *\n'
    print -r -- "$answer"
done
END
in_zsh() {                              # LINE...
    TERM=dumb HOME=$tmp ZDOTDIR=$tmp timeout 20 zsh -f typed.zsh "$@" | tr -d '\r' | sed -n 's/.*GOT //p'
}
tab=$(printf '\t')
is "$(in_zsh "vitrine trai$tab--isa av${tab}2$tab" "vitrine train --dat${tab}bo$tab" "vitrine train --data=tw$tab" \
    "vitrine generate mo$tab --top-p$tab" "vitrine check --op att$tab" "vitrine completions fi$tab")" \
"'train' '--isa' 'avx2'
'train' '--data=book.txt'
'train' '--data=two words.csv'
'generate' 'model' '--top-p'
'check' '--op' 'attention'
'completions' 'fish'" "zsh: a command, options, kernels, files, folders, operators, shells"
finish
