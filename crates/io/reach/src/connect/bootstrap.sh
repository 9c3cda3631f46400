#!/bin/sh
# A node's /bin/sh reads this from standard input, so nothing in it is ever quoted for another shell. It runs the agent, whose
# binary it asks for where it is missing or is not the one that is wanted. Each line behind the magic word is read by
# protocol/preamble.rs. Whoever sends this sends no more until it is spoken to, so nobody can read too far.

say() {
    printf '\nCROSSTIE-6b1f0d3a %s\n' "$*"
}

give_up() {
    say failed "$1" "$(printf %s "$2" | tr '\n' ' ')"
    exit 1
}

is_wanted() {
    found=$(sha256sum <"$1") && [ "${found%% *}" = "$sum" ]
}

# What root has read once since the machine started, and nobody has touched since, root does not read again: it takes a slow
# machine seconds, at every connection. Only root can write there, and only root's agents are known there.
identify() {
    stat -c '%d %i %s %y %z' "$folder/$sum"
}

is_known() {
    [ "$privilege" = root ] && is_own d "${known%/*}" && is_own - "$known" && [ "$(cat "$known")" = "$(identify)" ]
}

remember() {
    [ "$privilege" = root ] || return 0
    { [ -e "${known%/*}" ] || mkdir -m 755 "${known%/*}"; } 2>/dev/null
    # Where it is not root's alone, or a link or a pipe, it tells nothing, and nothing is written there.
    is_own d "${known%/*}" || return 0
    { rm -rf "$known" && identify >"$known"; } 2>/dev/null
}

# Whoever could write to the folders could put another agent there, between the look at it and its start.
refuse_shared() {
    for place in "${folder%/*}" "$folder"; do
        [ -e "$place" ] || continue
        case $(stat -L -c '%u %A' "$place" 2>/dev/null) in
        "$(id -u) d"????-??-*) ;;
        # Taken away in between.
        '') [ ! -e "$place" ] || give_up shared "$place" ;;
        *) give_up shared "$place" ;;
        esac
    done
}

# `-` for a file, `d` for a folder: the user's, and nobody else may write to it.
is_own() {
    case $(stat -c '%u %A' "$2" 2>/dev/null) in
    "$(id -u) $1"????-??-*) ;;
    *) return 1 ;;
    esac
}

# Becomes root and starts again, or returns.
become_root() {
    # sudo forgets it, and `crosstie uninstall` looks there for what was left without root.
    case ${XDG_CACHE_HOME:-} in
    /*[!A-Za-z0-9/._-]* | [!/]* | '') cache='' ;;
    *) cache="CROSSTIE_USER_CACHE=$XDG_CACHE_HOME; export CROSSTIE_USER_CACHE; " ;;
    esac
    again="${cache}echo; echo CROSSTIE-6b1f0d3a again; exec /bin/sh"
    if why=$(sudo -n /bin/sh -c 'exit 0' 2>&1); then
        exec sudo -n /bin/sh -c "$again"
    fi
    case $why in
    # sudo's words, and those of sudo-rs.
    *'password is required'* | *'interactive authentication is required'*)
        say password
        read -r answer || exit 1
        # The prompt tells the controller when to send the password, and when a password was wrong. sudo-rs writes more
        # around it.
        [ "$answer" != yes ] || exec sudo -S -p CROSSTIE-6b1f0d3a-password /bin/sh -c "$again"
        ;;
    *) say refused "$(printf %s "$why" | tr '\n' ' ')" ;;
    esac
}

# Of what did not arrive, or was never started, nothing stays, nor of the folders that were made for it. An agent that was
# started looks after itself.
# shellcheck disable=SC2317 # a trap calls it
forget() {
    rm -f "$new"
    [ -z "${CROSSTIE_MADE:-}" ] || rm -f "$folder/$sum"
    while case $folder/ in "${CROSSTIE_MADE:-/dev/null}"/*) rmdir "$folder" 2>/dev/null ;; *) false ;; esac; do
        folder=${folder%/*}
    done
}

unpack() {
    case $form in
    gzip) gzip -dc ;;
    *) cat ;;
    esac
}

# Whoever takes an agent away at the same time takes the empty folder away too: then it is made again, a few times.
make_new_file() {
    for again in yes yes yes no; do
        if why=$(mkdir -p "$folder" 2>&1); then
            refuse_shared
            new=$(mktemp "$folder/.new.XXXXXX" 2>&1) && return
            why=$new
        fi
        case $again$why in
        yes*'No such file or directory'*) ;;
        *) give_up folder "$why" ;;
        esac
    done
}

fetch() {
    # The outermost thing that was not there, for whoever takes it all away again.
    CROSSTIE_MADE=$folder/$sum
    if [ -e "$CROSSTIE_MADE" ]; then
        unset CROSSTIE_MADE
    else
        while [ ! -e "${CROSSTIE_MADE%/*}" ]; do CROSSTIE_MADE=${CROSSTIE_MADE%/*}; done
        export CROSSTIE_MADE
    fi
    make_new_file
    trap forget EXIT
    trap 'exit 1' HUP INT TERM PIPE
    form=plain
    if command -v gzip >/dev/null; then form=gzip; fi
    say need "$form"
    read -r size || exit 1
    why=$({ head -c "$size" | unpack >"$new"; } 2>&1) || give_up write "$why"
    is_wanted "$new" || give_up sum "$(wc -c <"$new")"
    # A folder of that name would take the file in.
    [ ! -d "$folder/$sum" ] || rm -rf "${folder:?}/$sum"
    why=$({ chmod "$mode" "$new" && mv -f "$new" "$folder/$sum"; } 2>&1) || give_up write "$why"
    # Other builds, and what a broken connection left behind.
    find "$folder" -maxdepth 1 -type f -mtime +7 ! -name "$sum" -exec rm -f {} + 2>/dev/null
}

main() {
    PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
    unset CROSSTIE_MADE
    LC_ALL=C
    export PATH LC_ALL
    say system "$(uname -s)" "$(uname -m)" "$(id -u)"
    read -r privilege sum || exit 1
    if [ "$privilege" = sudo ]; then
        become_root
        privilege=user
    fi
    case $privilege in
    root)
        # Root runs nothing that another user could have written.
        umask 022
        mode=755 folder=/var/lib/crosstie/bin
        why=$(mkdir -p "$folder" 2>&1) || give_up folder "$why"
        # A disk that is read-only by now does not take it: modes that will not do are refused below.
        chmod 755 "${folder%/*}" "$folder" 2>/dev/null
        owners=$(stat -c %u "${folder%/*}" "$folder" | sort -u)
        [ "$owners" = 0 ] || give_up owner "$folder"
        ;;
    user)
        umask 077
        [ -n "${XDG_CACHE_HOME:-}${HOME:-}" ] || give_up folder "no home directory"
        mode=700 folder=${XDG_CACHE_HOME:-$HOME/.cache}/crosstie/bin
        ;;
    *) exit 1 ;;
    esac
    refuse_shared
    known=/run/crosstie/agent-$sum
    if ! { [ -x "$folder/$sum" ] && is_own - "$folder/$sum"; }; then
        fetch
    elif ! is_known; then
        is_wanted "$folder/$sum" 2>/dev/null || fetch
    fi
    # Whoever sent it may have taken it away while it was looked at.
    [ -e "$folder/$sum" ] || fetch
    is_known || remember
    say start
    exec "$folder/$sum" agent --build "$sum"
}

main
exit
