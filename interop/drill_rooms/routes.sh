# shellcheck shell=bash disable=SC2034
# Routes and cards that vanish, and a host that leaves one network for another. What counts is the stall of the receiver:
# RTO.Min of RFC 9260 is a second.

first_uplink_cut() {
    local SERVER=(--json)
    policy_routing
    begin 15 10.95.0.1,10.95.1.1 10.95.0.1,10.95.1.1 --bind 10.94.0.1,10.94.1.1
    middle 0.8 e0
    cut_router r
    complete "policy routing, the first uplink is cut" 6
    stalled_less "policy routing, the first uplink is cut" 250
    grep -q 'data moves to 10.94.1.1 -> 10.95.1.1:9899: 10.94.0.1 -> 10.95.0.1:9899 is potentially failed' "$WORK/send.log"
    verdict "policy routing: where data moves is told, and why" $? "$(grep -a 'moves' "$WORK/send.log")"
}

first_uplink_of_ipv6_cut() {
    policy_routing_of_ipv6
    begin 15 fd95:0::1,fd95:1::1 fd95:0::1,fd95:1::1 --bind fd94:0::1,fd94:1::1
    middle 0.8 e0
    cut_uplink r
    complete "policy routing, IPv6, the first uplink is cut" 6
    stalled_less "policy routing, IPv6, the first uplink is cut" 250
}

# What takes the path in use away. Of the first three this host is told by its sockets or its routes, of the last by nothing.
route_deleted() { on a ip route del 10.93.0.0/24; }
card_down() { on a ip link set e0 down; }
forbidden() {
    on a nft add table ip drill
    on a nft 'add chain ip drill out { type filter hook output priority 0; }'
    on a nft add rule ip drill out oifname e0 reject
}
silent_cut() {
    deafen a e0
    deafen z e0
}

# T3-rtx would cost a second.
path_lost() { # FAULT WORDS [OPTIONS OF SEND...]
    two_links
    begin 15 10.93.0.2,10.93.1.2 10.93.0.2,10.93.1.2 "${@:3}"
    middle 0.8 e0
    "$1"
    complete "$2" 6
    stalled_less "$2" 250
}

# The probe timeout notices a silent cut, too. Without it at the side that sends, only what the host says is faster than T3-rtx.
# The receiver has it: by its rules the confirmation at the end leaves where the peer is heard (assoc/peer_moved.rs).
by_word_alone() { # FAULT WORDS
    path_lost "$1" "$2, no probe timeout" --set failover.probe_timeout=off
}

# For the controls: nobody tells of this one.
silent_cut_by_word_alone() {
    local SERVER=(--json)
    by_word_alone silent_cut "the path in use is cut without a word"
}

drill_routes() {
    local SERVER=(--json) how
    first_uplink_cut
    first_uplink_of_ipv6_cut
    for how in path_lost by_word_alone; do
        $how route_deleted "the route of the path in use is deleted"
        $how forbidden "a filter forbids the path in use"
        $how card_down "the card of the path in use goes down"
    done
}

# Without changes of addresses a host that moves is taken for one behind a translator, which is as fast. So what crosses the
# cards of the side that stays is kept. Only short packets: an ASCONF goes alone.
watch_changes() { # NS
    local card
    for card in e0 e1; do
        # Else a short packet may travel behind others, as one.
        on a ethtool -K $card tso off gso off tx-udp-segmentation off > /dev/null
        on z ethtool -K $card tso off gso off tx-udp-segmentation off > /dev/null
    done
    rm -f "$WORK/changes.pcapng"
    # `ip netns exec` becomes dumpcap, so this is its process.
    (exec ip netns exec "$ID$1" dumpcap -q -p -i e0 -i e1 -f 'less 600' -w "$WORK/changes.pcapng") > "$WORK/changes.log" 2>&1 &
    WATCH=$!
    for _ in $(seq 100); do
        [ -s "$WORK/changes.pcapng" ] && return
        sleep 0.05
    done
    BROKEN+="the capture did not start; "
}

changes_told() { # NAME LEAST: so many ASCONFs told of the changes, and each was acknowledged
    local asked answered
    sleep 0.3 # what is still in dumpcap's buffer
    kill -TERM "$WATCH" 2> /dev/null
    wait "$WATCH"
    asked=$(serials 0xc1 sctp.asconf_seq_nr_number)
    answered=$(serials 0x80 sctp.asconf_ack_seq_nr_number)
    [ -z "$BROKEN" ] && [ "$asked" -ge "$2" ] && [ "$answered" -ge "$asked" ]
    verdict "$1: told by $asked ASCONFs, $answered acknowledged" $? "at least $2; $BROKEN$(tail -n 1 "$WORK/changes.log")"
}

serials() { # TYPE FIELD: the serial numbers that were seen, each once
    tshark -n -r "$WORK/changes.pcapng" -d udp.port==9899,sctp -Y "sctp.chunk_type == $1" -T fields -e "$2" 2> /dev/null | sort -u | wc -l
}

wildcard_told() { # NAME SOURCE: an addition and a deletion from there named the wildcard address (RFC 5061 section 4.2)
    local said status
    said=$(python3 -c '
import sys
sys.path.insert(0, sys.argv[1])
from table_rooms import packets
found = packets.wildcards(sys.argv[2], [sys.argv[3]])
print(found)
sys.exit(not (found.added and found.deleted))' "$ROOT/interop" "$WORK/changes.pcapng" "$2" 2>&1)
    status=$?
    [ -z "$BROKEN" ] || status=1
    verdict "$1: $(tail -n 1 <<< "$said")" $status "of $2, one of each is wanted; $BROKEN"
}

# For the controls, too.
roam_new_first() {
    local SERVER=(--json)
    two_links
    leave e1
    watch_changes z
    begin 15 10.93.0.2,10.93.1.2 10.93.0.2,10.93.1.2 --bind 0.0.0.0
    middle 0.8
    enter e1 10.93.1.1
    sleep 0.4
    in_use e0
    leave e0
    complete "roam, the new network comes first" 6
    stalled_less "roam, the new network comes first" 400
    changes_told "roam, the new network comes first" 2
}

drill_roam() {
    local SERVER=(--json)
    roam_new_first

    two_links
    leave e1
    watch_changes z
    begin 15 10.93.0.2,10.93.1.2 10.93.0.2,10.93.1.2 --bind 0.0.0.0
    middle 0.8 e0
    leave e0
    sleep 1
    enter e1 10.93.1.1
    complete "roam, one second without a network" 8
    stalled_less "roam, one second without a network" 1400
    changes_told "roam, one second without a network" 1

    # The server, which receives, leaves its network for another one. Nothing is set.
    two_links
    on z ip addr flush dev e1
    on z ip link set e1 down
    watch_changes a
    begin 15 - 10.93.0.2
    middle 0.8
    on z ip link set e1 up
    on z ip addr add 10.93.1.2/24 dev e1
    sleep 0.4
    in_use e0
    on z ip addr flush dev e0
    on z ip link set e0 down
    complete "roam, the server leaves its network" 6
    stalled_less "roam, the server leaves its network" 400
    changes_told "roam, the server leaves its network" 2

    roam_translators
}

# Behind translators; the server has public addresses. For the controls, too.
roam_translators() {
    local SERVER=(--json) router
    fresh a z r s
    cable a e0 192.168.7.1 r in 192.168.7.254
    cable a e1 192.168.8.1 s in 192.168.8.254
    cable r out 203.0.113.1 z e0 203.0.113.10
    cable s out 198.51.100.1 z e1 198.51.100.10
    on s ip route add 203.0.113.0/24 via 198.51.100.10
    for router in r s; do
        masquerade $router
    done
    limit a e0 50mbit
    limit a e1 50mbit
    leave e1
    on a ip route add default via 192.168.7.254
    watch_changes z
    begin 15 203.0.113.10 203.0.113.10 --bind 0.0.0.0
    middle 0.8 e0
    leave e0
    enter e1 192.168.8.1 192.168.8.254
    complete "roam, from one translator to another" 6
    stalled_less "roam, from one translator to another" 400
    changes_told "roam, from one translator to another" 1
    # The client has a private address and the server a public one, so nobody has to say so.
    wildcard_told "roam, from one translator to another" 198.51.100.1
}
