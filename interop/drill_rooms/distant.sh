# shellcheck shell=bash disable=SC2034
# What the other drills do over links without delay, over round trips of 90 ms: `byway emulate` has two paths of 50 Mbit/s with queues of
# 64 packets, as `cargo xtask measure failover` has.

# Three round trips and 50 ms: the bound of `cargo xtask measure failover`.
DISTANT_STALL=320

# `byway send` of 25 MB over both paths; the events are those of a scenario. A command, in the sender's namespace, runs beside it.
over_distant() { # EVENTS COMMAND OPTIONS OF SEND...
    local events=$1 command=$2
    shift 2
    BROKEN=
    rm -rf "$WORK/got" && mkdir "$WORK/got"
    head -c 25000000 /dev/urandom > "$WORK/file"
    printf '%s\n' 'limit = "60 s"' '[traffic]' 'kind = "bulk"' 'size = "1 MiB"' > "$WORK/distant.toml"
    printf "[[path]]\nname = '%s'\nrate = '50 Mbit/s'\ndelay = '45 ms'\nqueue = '64 packets'\n" first second >> "$WORK/distant.toml"
    printf '%s\n' "$events" >> "$WORK/distant.toml"
    rm -f "$WORK/send.json" "$WORK/recv.json"
    timeout "$LIMIT" "$BYWAY" emulate "$WORK/distant.toml" --quiet --name "$ID" \
        --receiver "exec '$BYWAY' recv --unprotected --once --json --bind 10.1.0.2,10.2.0.2 --dir '$WORK/got' > '$WORK/recv.json' 2> '$WORK/recv.log'" \
        -- sh -c "$command"' exec "$@"' sh "$BYWAY" send "$WORK/file" --json --retries 0 --to 10.1.0.2,10.2.0.2 "${BOTH[@]}" "$@" \
        > "$WORK/send.json" 2> "$WORK/send.log"
    status=$?
    cmp -s "$WORK/file" "$WORK/got/file" || status="$status, and the file is not there"
    stalls=$(jq -s 'map(.longest_stall_s * 1000 | round) | join(" and ")' -r "$WORK/send.json" "$WORK/recv.json" 2> /dev/null)
}

distant_event() { # AT PATH down|up
    printf "[[event]]\nat = '%s'\npath = '%s'\ndo = '%s'\n" "$@"
}

# The receiver's stall has the bounds, and the sender tells the same: what it hears is a round trip old at most, and up to
# 20 ms and a packet's queue.
distant_verdict() { # WHAT LEAST MOST: status and stalls are its caller's
    [ "$status" = 0 ] && [ -z "$BROKEN" ] && jq -es --argjson least "$2" --argjson most "$3" \
        'length == 2 and (map(.longest_stall_s * 1000) | .[1] >= $least and .[1] <= $most and max - min <= 150)' \
        "$WORK/send.json" "$WORK/recv.json" > /dev/null
    verdict "90 ms: $1; stalls of $stalls ms at the sender and the receiver" $? \
        "status $status; $2 to $3 ms, and at most 150 apart; $BROKEN$(tail -n 1 "$WORK/send.log")"
}

drill_distant() {
    local status stalls
    over_distant '' ''
    distant_verdict "no fault" 0 230

    distant_cut
    distant_outage

    # The address of the first path goes, as with its network. Netlink says so at once.
    over_distant '' '(sleep 2; ip -4 addr flush dev path1) &' --bind 0.0.0.0
    has_moved
    distant_verdict "the first network of the sender goes" 60 $DISTANT_STALL

    # A translator at the sender forgets the bindings. The new port is in doubt until a heartbeat's answer came from there.
    over_distant '' "$(forgetful)" --bind 0.0.0.0
    rebound
    distant_verdict "the translator forgets both bindings" 60 $((DISTANT_STALL + 90))
}

distant_cut() {
    over_distant "$(distant_event '2 s' first down)" ''
    has_moved
    # A message of 32 kB counts when it is whole, and in the first windows of the other path that takes up to a round trip more than
    # the first bytes: two of five stalls are over the bound of `measure failover`, which reads bytes (docs/networks.md).
    distant_verdict "the first path dies in silence" 60 $((DISTANT_STALL + 90))
}

# A second for the way back.
distant_outage() {
    over_distant "$(for path in first second; do
        distant_event '2 s' $path down
        distant_event '7 s' $path up
    done)" ''
    distant_verdict "all paths are dead for 5 s" 4900 6100
}

# Of 25 MB each path has carried some: what died had some at 2 s, and the other one the rest.
has_moved() {
    jq -e '.paths | .[0].bytes_sent > 1000000 and .[1].bytes_sent > 10000000' "$WORK/send.json" > /dev/null 2>&1 ||
        BROKEN+="no data moved: $(jq -c '.paths | map(.bytes_sent)' "$WORK/send.json" 2> /dev/null); "
}

forgetful() {
    cat << END
nft add table ip nat
nft 'add chain ip nat post { type nat hook postrouting priority 100; }'
nft 'add rule ip nat post udp sport 9899 masquerade fully-random'
ports() { conntrack -L -p udp 2> /dev/null | sed -n 's/.*dport=\([0-9]*\) \[.*/\1/p; s/.*dport=\([0-9]*\) mark.*/\1/p' | sort -u | xargs; }
# What comes in just then makes an entry of its own, with the old port.
(sleep 2; ports > '$WORK/before'; for again in 1 2 3 4 5; do
    conntrack -F > /dev/null 2>&1; sleep 0.3; ports > '$WORK/after'; cmp -s '$WORK/before' '$WORK/after' || break; done) &
END
}

rebound() {
    [ -s "$WORK/before" ] && [ -s "$WORK/after" ] && ! cmp -s "$WORK/before" "$WORK/after" ||
        BROKEN+="no binding changed: $(cat "$WORK/before" "$WORK/after" 2> /dev/null | xargs); "
}
