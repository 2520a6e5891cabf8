# shellcheck shell=bash disable=SC2034
# IPv4 and IPv6 in one association, names with several addresses, and paths of unlike delay.

two_families() { # the first link has IPv4 only, the second one IPv6 only
    fresh a z
    cable a e0 10.93.0.1 z e0 10.93.0.2
    cable a e1 10.93.1.1 z e1 10.93.1.2
    on a ip addr flush dev e1
    on z ip addr flush dev e1
    ipv6 a e1 fd93:1::1 z e1 fd93:1::2
    limit a e0 50mbit
    limit a e1 50mbit
}

# z has both families on its first link, a only the one named; nothing is set. Then a changes for a network of the other one.
one_family() { # FAMILY: 4 or 6
    local both=10.93.0.2,fd93:0::2
    two_links
    ipv6 a e0 fd93:0::1 z e0 fd93:0::2
    ipv6 a e1 fd93:1::1 z e1 fd93:1::2
    leave e1
    if [ "$1" = 4 ]; then on a ip -6 addr flush dev e0; else on a ip -4 addr flush dev e0; fi
    begin 15 - $both
    middle 0.8
    on a ip link set e1 up
    # The server's addresses are reached over the second link, too.
    if [ "$1" = 4 ]; then
        on a ip addr add fd93:1::1/64 dev e1 nodad
        on a ip -6 route add fd93:0::/64 via fd93:1::2
    else
        on a ip addr add 10.93.1.1/24 dev e1
        on a ip route add 10.93.0.0/24 via 10.93.1.2
    fi
    sleep 0.4
    in_use e0
    leave e0
    complete "a client of IPv$1 alone, a server of both, which changes for a network of the other family" 6
    stalled_less "from IPv$1 to the other family" 250
    grep -q 'not used now: ' "$WORK/send.log"
    verdict "IPv$1 alone: the other address is named" $? "$(head -n 3 "$WORK/send.log")"
}

means() { # NAME ADDRESS...: what a name means in a
    local address
    mkdir -p "/etc/netns/${ID}a"
    for address in "${@:2}"; do echo "$address $1"; done > "/etc/netns/${ID}a/hosts"
}

# For the controls, too.
from_ipv4_to_ipv6() {
    local SERVER=(--json)
    two_families
    begin 15 10.93.0.2,fd93:1::2 10.93.0.2,fd93:1::2
    middle 0.8 e0
    deafen z e0
    deafen a e0
    complete "IPv4 and IPv6, the path of IPv4 is cut" 6
    stalled_less "from IPv4 to IPv6" 250
}

drill_families() {
    local SERVER=(--json) both=10.93.0.2,fd93:1::2
    from_ipv4_to_ipv6

    two_families
    begin 15 fd93:1::2,10.93.0.2 fd93:1::2,10.93.0.2
    middle 0.8 e1
    deafen z e1
    deafen a e1
    complete "IPv4 and IPv6, the path of IPv6 is cut" 6
    stalled_less "from IPv6 to IPv4" 250

    two_links
    means drill.example 10.93.0.2 10.93.1.2
    begin 15 10.93.0.2,10.93.1.2 drill.example
    middle 0.8 e0
    deafen z e0
    deafen a e0
    complete "a name with two addresses, the first path is cut" 6
    stalled_less "a name with two addresses" 250

    two_families
    means drill.example 10.93.0.2 fd93:1::2
    begin 15 $both drill.example
    # RFC 6724 puts the address of IPv6 first.
    middle 0.8 e1
    deafen z e1
    deafen a e1
    complete "a name with an address of each family, the path of IPv6 is cut" 6
    stalled_less "a name with an address of each family" 250

    one_family 4
    one_family 6
}

# 50 Mbit/s each, round trips of 10 and 300 ms. Alone the better one carries 25 MB in 4.2 s, and must in 4.6; both at once gain three
# twentieths at least. The sum would be 2.1 s: the window of the distant path doubles each 300 ms and holds 1.9 MB only after 2.7 s.
# In the long run they deliver 95 % of the sum.
drill_far() {
    far_in_short
    far_in_the_long_run
}

far_in_short() {
    local alone both most=4600
    head -c 25000000 /dev/urandom > "$WORK/file"
    far_links '50 packets'
    alone=$(over_far 10.1.0.2)
    both=$(over_far 10.1.0.2,10.2.0.2 --set "concurrent=${CONCURRENT:-on}")
    [ -n "$alone" ] && [ -n "$both" ] && [ "$alone" -le $most ] && [ "$both" -le $((alone * 85 / 100)) ]
    verdict "25 MB over paths of 10 and 300 ms at once, in ${both:-?} ms; over the first alone in ${alone:-?} ms" $? \
        "alone at most $most, at once at most 0.85 of that; $(tail -n 1 "$WORK/send.log")"
}

far_links() { # QUEUE
    printf '%s\n' 'limit = "60 s"' '[traffic]' 'kind = "bulk"' 'size = "1 MiB"' > "$WORK/far.toml"
    printf "[[path]]\nrate = '50 Mbit/s'\ndelay = '%s'\nqueue = '$1'\n" '5 ms' '150 ms' >> "$WORK/far.toml"
}

over_far() { # ADDRESSES [OPTIONS OF SEND...]: prints the milliseconds, if the file came
    local addresses=$1
    shift
    rm -rf "$WORK/got" && mkdir "$WORK/got"
    timeout "$LIMIT" "$BYWAY" emulate "$WORK/far.toml" --quiet --name "$ID" \
        --receiver "exec '$BYWAY' recv --unprotected --once --bind $addresses --dir '$WORK/got' > '$WORK/recv.log' 2>&1" \
        -- "$BYWAY" send "$WORK/file" --json --to "$addresses" "$@" > "$WORK/send.json" 2> "$WORK/send.log" &&
        cmp -s "$WORK/file" "$WORK/got/file" && jq '.seconds * 1000 | round' "$WORK/send.json"
}

# Each link carries 48.1 Mbit/s of payload: 1444 bytes in a packet of 1500. The queues are those of experiments/unequal-paths: behind
# one of 50 packets, 12 ms, CUBIC does not fill a path of 300 ms for half a minute, whatever the buffers hold (FAR_QUEUE). The first
# 40 MB are not timed, in 4 to 5 s, as the window of the distant path grows in them.
far_in_the_long_run() {
    local addresses=10.1.0.2,10.2.0.2 bound=91400 rate
    head -c 70000000 /dev/urandom > "$WORK/far.sent"
    far_links "${FAR_QUEUE:-200 packets}"
    timeout "$LIMIT" "$BYWAY" emulate "$WORK/far.toml" --quiet --name "$ID" \
        --receiver "'$BYWAY' listen --unprotected --bind $addresses 2> '$WORK/recv.log' |
            { head -c 40000000; date +%s%N >&2; head -c 24000000; date +%s%N >&2; cat; } 2> '$WORK/times' > '$WORK/far.got'" \
        -- "$BYWAY" cat --to "$addresses" --set "concurrent=${CONCURRENT:-on}" < "$WORK/far.sent" > /dev/null 2> "$WORK/send.log"
    rate=$(awk '{ at[NR] = $1 } END { if (NR == 2) printf "%d", 24e6 * 8e6 / (at[2] - at[1]) }' "$WORK/times")
    cmp -s "$WORK/far.sent" "$WORK/far.got" && [ "${rate:-0}" -ge "$bound" ]
    verdict "both paths in the long run deliver ${rate:-?} kbit/s, of 96200 that they carry" $? "at least $bound; $(tail -n 1 "$WORK/send.log")"
}

# Transfers of 2 MB into a queue of 5 ms, no fault. A loss is to be repaired in two round trips and 50 ms; a lost
# tail or a lost retransmission that waits for T3 costs a second. The round trip is the full queue's: 5 ms.
drill_shallow() {
    local count stalls bound=60 transfers=${TRANSFERS:-20}
    two_links
    on a tc qdisc replace dev e0 root tbf rate 200mbit burst 10kb latency 5ms
    rm -rf "$WORK/many" && mkdir "$WORK/many"
    waits 10.93.0.2 --json
    for ((count = 0; count < transfers; count++)); do
        head -c 2000000 /dev/urandom > "$WORK/many/f$count"
        on a timeout "$LIMIT" "$BYWAY" send "$WORK/many/f$count" --to 10.93.0.2 "${BOTH[@]}" > "$WORK/send.log" 2>&1 || break
    done
    kill "$RECV"
    wait "$RECV" 2> /dev/null
    stalls=$(grep -h '"byway.recv/1"' "$WORK/recv.log" | jq -r '.longest_stall_s * 1000 | ceil' | sort -n | xargs)
    on a tc -s qdisc show dev e0 | grep -qE 'dropped [1-9]' || BROKEN+="the queue dropped nothing; "
    [ -z "$BROKEN" ] && diff -r "$WORK/many" "$WORK/got" > /dev/null && [ "$(wc -w <<< "$stalls")" = "$transfers" ] && [ "${stalls##* }" -le $bound ]
    verdict "$transfers transfers into a queue of 5 ms: stalls of $stalls ms" $? "at most $bound ms; $BROKEN$(tail -n 1 "$WORK/send.log")"
}
