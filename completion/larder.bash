# Completion of larder in bash. What may stand where, `larder complete` knows; here is only how bash hands out
# its words: readline takes `=` and `:` for ends of words, so a word is put together again from the line, and
# what stands in front of the last of them is left out of the answer.

_larder_unquoted() {
    case $1 in
    \"*) REPLY=${1#\"} REPLY=${REPLY%\"} ;;
    \'*) REPLY=${1#\'} REPLY=${REPLY%\'} ;;
    *) REPLY=${1//\\\\/$'\a'} REPLY=${REPLY//\\/} REPLY=${REPLY//$'\a'/\\} ;;
    esac
}

_larder() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word blank i REPLY
    for ((i = 0; i <= COMP_CWORD; i++)); do
        blank=${line%%[![:blank:]]*}
        line=${line#"$blank"}
        word=${COMP_WORDS[i]}
        [[ $word == "$line"* ]] && word=$line
        line=${line#"$word"}
        if [[ $i -gt 0 && -z $blank ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    local typed=${words[${#words[@]} - 1]} plain=() kept=
    for word in "${words[@]}"; do
        _larder_unquoted "$word"
        plain+=("$REPLY")
    done
    # within quotes readline breaks at nothing
    [[ $typed == [\"\']* ]] || kept=${REPLY%"${REPLY##*["=:"]}"}

    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        COMPREPLY+=("${word#"$kept"}")
    done < <("$1" complete -- "${plain[@]}" 2>/dev/null)
    local IFS=/
    if [[ ${COMPREPLY[*]} == *[!A-Za-z0-9_=,.:/@%+-]* ]]; then
        compopt -o filenames 2>/dev/null
    fi
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _larder larder
