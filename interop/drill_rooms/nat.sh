# shellcheck shell=bash disable=SC2034
# Clients behind translators (NAT) that give each binding a port of its own.

# The address and port that r gives what a sends from its UDP port.
binding() {
    on r conntrack -L -p udp 2>/dev/null |
        sed -n 's/.*src=192\.168\.7\.1 .* dst=\(10\.92\.0\.25[0-9]\) sport=9899 dport=\([0-9]*\).*/\1 \2/p' | head -n 1
}

# The translator r forgets its bindings: the next packet gets another port, or another public address. Then the old address
# is silent, as one that nobody has, and no side knows of the change: the client's own address stays.
forget() { # port|address
    local before after
    before=$(binding)
    if [ "$1" = address ]; then
        on r ip addr add 10.92.0.253/24 dev out
        on r nft flush chain ip drill post
        on r nft add rule ip drill post oifname out snat to 10.92.0.253 fully-random
        on r nft 'add chain ip drill in { type filter hook input priority 0; }'
        on r nft add rule ip drill in ip daddr 10.92.0.254 drop
    fi
    on r conntrack -F > /dev/null 2>&1
    sleep 0.3
    after=$(binding)
    REBOUND="${before/ /:}, then ${after/ /:}"
    if [ "$1" = port ]; then before=${before#* } after=${after#* }; else before=${before% *} after=${after% *}; fi
    [ -n "$before" ] && [ -n "$after" ] && [ "$before" != "$after" ] || BROKEN="the binding did not change: $REBOUND; "
}

# An exchange (interop/exchange/src/main.rs): data both ways at once, 4.9 MB each, between a and z.
exchange() { # NS OUT WORDS...: in the background
    local ns=$1 out=$2
    shift 2
    on "$ns" timeout "$LIMIT" "$EXCHANGE" "$@" > "$out" 2> "$out.log" &
}

exchange_between() { # ADDRESSES OF Z: a connects; its caller's `server` and `client` are the processes
    local at=${1//,/:9899,}:9899
    exchange z "$WORK/server" accept --bind "$at"
    server=$!
    sleep 0.3
    exchange a "$WORK/client" connect --bind 0.0.0.0:9899 --to "$at"
    client=$!
}

# What one end sent and the other end received on each stream.
sums() { sed -n "s/^$1 //p" "$2" | sort; }

exchanged() { # CLIENT SERVER: both ends have the same sums of the 43 streams
    local each
    each=$(sums sent "$1")
    [ "$(wc -l <<<"$each")" = 43 ] && [ "$each" = "$(sums received "$2")" ] &&
        [ "$(sums received "$1" | wc -l)" = 43 ] && [ "$(sums received "$1")" = "$(sums sent "$2")" ]
}

# Two clients and a server of both: each has one of the server's associations, whichever. PROBLEM says what is wrong.
each_served() { # CLIENT OTHER SERVER
    local way
    PROBLEM=
    rm -f "$3".[0-9]*
    awk -v file="$3" '/^association /{ n = $2; next } n { print > (file "." n) }' "$3"
    # Else nothing is shown by equal sums.
    for way in sent received; do
        [ -z "$(comm -12 <(sums $way "$1") <(sums $way "$2"))" ] || PROBLEM="the data of the two cannot be told apart; "
    done
    [ "$(ls "$3".[0-9]* 2>/dev/null | wc -l)" = 2 ] || PROBLEM+="the server has not two associations; "
    [ -z "$PROBLEM" ] || return
    { exchanged "$1" "$3.1" && exchanged "$2" "$3.2"; } || { exchanged "$1" "$3.2" && exchanged "$2" "$3.1"; } ||
        { PROBLEM="a client's sums are not those of its association; " && false; }
}

# What crosses z's cards is kept for sources.py.
watch_z() { # CARD...
    local cards=() card router=r
    for card in "$@"; do
        cards+=(-i "$card")
        # Whole packets, as a wire has them.
        on z ethtool -K "$card" tso off gso off gro off tx-udp-segmentation off > /dev/null
        on $router ethtool -K out tso off gso off gro off tx-udp-segmentation off > /dev/null
        router=s
    done
    rm -f "$WORK/z.pcapng"
    # `ip netns exec` becomes dumpcap, so this is its process.
    (exec ip netns exec "${ID}z" dumpcap -q -p -B 8 "${cards[@]}" -w "$WORK/z.pcapng") > "$WORK/z.log" 2>&1 &
    WATCH=$!
    for _ in $(seq 100); do
        [ -s "$WORK/z.pcapng" ] && return
        sleep 0.05
    done
    BROKEN+="the capture did not start; "
}

seen_at_z() { # NAME ADDRESSES: answers leave as the packets came; data follows a nonce
    local what said status lost queues
    sleep 0.3 # what is still in dumpcap's buffer
    kill -TERM "$WATCH"
    wait "$WATCH"
    lost=$(lost_by_capture "$WORK/z.log")
    # What these drop is not in the capture either.
    queues=$(on z tc -s -j qdisc show | jq '[.[].drops // 0] | add')
    for what in answers nonces; do
        said=$(BLIND=${BLIND:-} python3 "$ROOT/interop/drill_rooms/sources.py" $what "$WORK/z.pcapng" "$2" "${queues:-0}" 2>&1)
        status=$?
        # What is missing may have been there: this shows neither a fault of byway nor that there is none.
        [ $status = 0 ] || [ -z "$lost" ] || said="the capture shows nothing, as $lost; it looked so: $(tail -n 1 <<< "$said")"
        [ -z "$BROKEN" ] || status=1
        verdict "$1, $(tail -n 1 <<< "$said")" $status \
            "$what; ${lost:-the capture lost nothing}; z's queues dropped ${queues:-?} packets; $(keep "$what" z.pcapng z.log client server client.log server.log); $BROKEN"
    done
}

# What dumpcap could not keep up with, or nothing.
lost_by_capture() { # LOG
    awk -F': ' '/^Packets received\/dropped on interface/ {
        split($NF, counts, /[\/ ]/); kept += counts[1]; lost += counts[2]; said = 1
    } END {
        if (!said) print "dumpcap told no counts"
        else if (lost) printf "it lost %d packets and kept %d", lost, kept
    }' "$1"
}

# From now on r loses the heartbeats to the client, so that it cannot show that it is at its new port.
deaf_to_heartbeats() {
    on r nft add table ip deaf
    on r nft 'add chain ip deaf forward { type filter hook forward priority 0; }'
    on r nft add rule ip deaf forward iifname out udp sport 9899 @th,160,8 4 drop
}

# Bounds of a new binding. Nothing goes to it before the answer to a heartbeat: one round trip. What was lost until then
# follows within another one. The queues of these cards hold 50 ms, so a round trip takes at most 50 ms where one way is
# loaded, and 100 ms where both are. 100 ms are for a busy machine.
STALL_ONE_WAY=200 STALL_BOTH_WAYS=300

rebinding_one_way() { # UPLINKS port|address
    local SERVER=(--json) to=10.92.0.1
    translators "$1"
    limit a e0 50mbit
    [ "$1" = 1 ] || { to+=,10.92.1.1 && limit a e1 50mbit; }
    begin 20 $to $to
    middle 1.5 e0
    forget "$2"
    complete "nat, $1 uplinks: the binding changes in mid-transfer, $REBOUND" 8
    stalled_less "nat, $1 uplinks, another $2" $STALL_ONE_WAY
}

rebinding_both_ways() { # UPLINKS port|address
    local to=10.92.0.1 cards=(e0) server client status pause
    translators "$1"
    limit a e0 10mbit
    limit z e0 10mbit
    [ "$1" = 1 ] || { to+=,10.92.1.1 && cards+=(e1) && limit a e1 10mbit && limit z e1 10mbit; }
    watch_z "${cards[@]}"
    exchange_between "$to"
    sleep 1.4
    in_use e0
    [ -z "${DEAF:-}" ] || deaf_to_heartbeats
    forget "$2"
    kill -0 $client || BROKEN+="the exchange ended before the fault; "
    wait $client
    status=$?
    wait $server || status=1
    pause=$(sed -n 's/^pause //p' "$WORK/client" "$WORK/server" | sort -n | tail -n 1)
    [ $status = 0 ] && [ -z "$BROKEN" ] && exchanged "$WORK/client" "$WORK/server" && [ "${pause:-9999}" -le $STALL_BOTH_WAYS ]
    verdict "nat, $1 uplinks: another $2, data both ways; nothing for ${pause:-?} ms at most" $? \
        "at most $STALL_BOTH_WAYS ms; $BROKEN$(tail -n 1 "$WORK/client.log")"
    seen_at_z "nat, $1 uplinks, another $2" $to
    tshark -n -r "$WORK/z.pcapng" -d udp.port==9899,sctp -Y 'sctp.chunk_type == 0xc1' > "$WORK/asconf" 2> /dev/null && [ ! -s "$WORK/asconf" ]
    verdict "nat, $1 uplinks, another $2: no ASCONF tells of it" $? "$(head -n 1 "$WORK/asconf")"
}

# For the controls.
rebinding() { rebinding_both_ways 1 port; }
new_address() { rebinding_both_ways 1 address; }
neighbours_of_one_seed() { OTHER_SEED=1 neighbours 1; }

drill_rebinding() {
    local uplinks what
    for what in port address; do
        for uplinks in 1 2; do
            rebinding_one_way $uplinks $what
            rebinding_both_ways $uplinks $what
        done
    done
}

# A download: the side that accepted sends, and the client behind the translator has nothing to say but that it has received.
download() { # MEGABYTES: `came` of the client grows; its caller's DOWN, SOURCE, SERVE and FORWARD are the processes
    head -c "${1}000000" /dev/urandom > "$WORK/file"
    : > "$WORK/came"
    on z nft 'table ip setups { chain in { type filter hook prerouting priority -300; udp dport 9899 @th,160,8 1 counter; }; }'
    # `ip netns exec` becomes the program, so that it can be ended.
    (exec ip netns exec "${ID}z" python3 -c '
import socket, sys
with socket.create_server(("127.0.0.1", 7000)) as server:
    here, _ = server.accept()
    with open(sys.argv[1], "rb") as file:
        here.sendfile(file)' "$WORK/file") 2> "$WORK/source.log" &
    SOURCE=$!
    (exec ip netns exec "${ID}z" timeout "$LIMIT" "$BYWAY" serve --unprotected --allow 127.0.0.1:7000 --bind 10.92.0.1 "${BOTH[@]}") > "$WORK/serve.log" 2>&1 &
    SERVE=$!
    sleep 0.5
    (exec ip netns exec "${ID}a" timeout "$LIMIT" "$BYWAY" forward --listen 127.0.0.1:7001=127.0.0.1:7000 --to 10.92.0.1 "${BOTH[@]}") > "$WORK/forward.log" 2>&1 &
    FORWARD=$!
    sleep 0.5
    on a timeout "$LIMIT" python3 -c '
import socket, sys
with socket.create_connection(("127.0.0.1", 7001)) as here, open(sys.argv[1], "wb", 0) as file:
    while piece := here.recv(65536):
        file.write(piece)' "$WORK/came" 2> "$WORK/down.log" &
    DOWN=$!
}

downloaded_once() { # NAME STATUS MILLISECONDS PAUSE: the file came, by the association that was there before the fault
    local status=$2 setups
    # Else the timeouts of these are waited for.
    kill $SERVE $FORWARD $SOURCE 2> /dev/null
    wait $SERVE $FORWARD $SOURCE
    setups=$(on z nft list chain ip setups in | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p')
    [ $status = 0 ] && [ -z "$BROKEN" ] && cmp -s "$WORK/file" "$WORK/came" && [ "$setups" = 1 ]
    verdict "$1: the file comes by the association that was there" $? \
        "status $status, $(stat -c %s "$WORK/came") bytes of $(stat -c %s "$WORK/file"), $setups INITs; $BROKEN$(tail -n 1 "$WORK/down.log") $(tail -n 1 "$WORK/forward.log") $(tail -n 1 "$WORK/serve.log")"
    [ "${4:-99999}" -le "$3" ] && [ -z "$BROKEN" ]
    verdict "$1: data again after ${4:-?} ms" $? "at most $3 ms; $BROKEN"
}

# What comes from outside and belongs to no binding is for r itself, which says that there is no such port, or nothing.
unknown() { # dropped|rejected
    local how=drop
    # Linux says so to each host once a second, as it comes with it; others say so each time.
    on r sysctl -qw net.ipv4.icmp_ratelimit=0
    [ "$1" = dropped ] || how='reject with icmp type port-unreachable'
    on r nft 'add chain ip drill in { type filter hook input priority 0; }'
    # shellcheck disable=SC2086
    on r nft add rule ip drill in iifname out meta l4proto udp counter $how
}

was_unknown() { # LEAST: packets
    local packets
    packets=$(on r nft list chain ip drill in | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p')
    [ "${packets:-0}" -ge "$1" ] || BROKEN+="$packets packets belonged to no binding, at least $1 are wanted; "
}

# The client hears nothing and is not heard for so many seconds, so no SACK that was on its way makes the new binding. In them the
# translator forgets the old one: it has restarted, or it counts what its client sends alone (RFC 4787, REQ-6). Only the client can
# make a new one, and it may have nothing to send: `forward` sends credit at times, and what is under way of it then is repeated.
# So this happens several times, and the longest pause counts. As after an outage of all paths, it is a second from the return.
forgotten_download() { # TIMES SECONDS FORGETS_AFTER dropped|rejected
    local DOWN SOURCE SERVE FORWARD before status resumed=0 again name
    name="nat, a download, no uplink for $2 s, the binding is forgotten after $3 s, what comes by it is $4"
    translators 1
    limit z e0 20mbit
    unknown "$4"
    download $((4 + 5 * $1))
    for _ in $(seq "$1"); do
        sleep 1
        before=$(binding)
        kill -0 $DOWN || BROKEN+="the download ended before the fault; "
        deafen a e0
        on r nft 'table ip uplink { chain in { type filter hook prerouting priority -300; iifname in drop; }; }'
        sleep "$3"
        on r conntrack -F > /dev/null 2>&1
        sleep "$(jq -n "$2 - $3")"
        on r nft delete table ip uplink
        on a nft delete table inet cut
        again=$(resumes_after "$WORK/came")
        [ "$again" -le "$resumed" ] || resumed=$again
        [ "$resumed" -le 1000 ] || break
        [ "$before" != "$(binding)" ] || BROKEN+="the binding did not change, $before; "
    done
    wait $DOWN
    status=$?
    was_unknown 2
    downloaded_once "$name" $status 1000 "$resumed"
}

drill_forgotten() {
    forgotten_download 5 0.3 0.1 dropped
    forgotten_download 5 0.3 0.1 rejected
    forgotten_download 1 30 20 rejected
}

# Two clients behind one address, with one SCTP port: only the translator's UDP ports tell them apart. With two uplinks,
# each is behind two such addresses, and the first uplink is cut in the middle.
neighbours() { # UPLINKS
    local server client other status ports=0 to=10.92.0.1:9899 n=0 router
    fresh a p r s z
    for router in r s; do
        [ $n -lt "$1" ] || break
        cable a e$n 192.168.$((7 + n)).1 $router in 192.168.$((7 + n)).254
        cable p e$n 192.168.$((9 + n)).1 $router next 192.168.$((9 + n)).254
        cable $router out 10.92.$n.254 z e$n 10.92.$n.1
        on a ip route add 10.92.$n.0/24 via 192.168.$((7 + n)).254
        on p ip route add 10.92.$n.0/24 via 192.168.$((9 + n)).254
        masquerade $router
        limit $router out 20mbit
        limit z e$n 20mbit
        n=$((n + 1))
    done
    [ "$1" = 1 ] || to+=,10.92.1.1:9899
    exchange z "$WORK/server" accept --at-once 2 --bind $to
    server=$!
    sleep 0.3
    exchange a "$WORK/client" connect --seed 1 --port 5001 --bind 0.0.0.0:9899 --to $to
    client=$!
    sleep 0.5
    exchange p "$WORK/other" connect --seed "${OTHER_SEED:-2}" --port 5001 --bind 0.0.0.0:9899 --to $to
    other=$!
    sleep 1
    for router in r s; do
        ports=$((ports + $(on $router conntrack -L -p udp 2> /dev/null |
            grep -c 'src=192\.168\.\(7\|8\|9\|10\)\.1 dst=10\.92\.[01]\.1 sport=9899')))
    done
    [ $ports = $((2 * $1)) ] && kill -0 $client && kill -0 $other || BROKEN+="the two did not go on side by side, $ports bindings; "
    if [ "$1" = 2 ]; then
        in_use e0
        cut_router r
    fi
    wait $client
    status=$?
    wait $other || status=1
    wait $server || status=1
    each_served "$WORK/client" "$WORK/other" "$WORK/server" && [ $status = 0 ] && [ -z "$BROKEN" ]
    verdict "nat, $1 uplinks: two clients behind one address with one SCTP port" $? \
        "status $status; $PROBLEM$BROKEN$(tail -n 1 "$WORK/client.log") $(tail -n 1 "$WORK/other.log") $(tail -n 1 "$WORK/server.log")"
}

drill_neighbours() {
    neighbours 1
    neighbours 2
}

# A translator that forgets a binding after 20 s (LIFE). The client waits for 30 s (SILENCE); then the server has something to say. With two
# uplinks, the first one is cut a moment before: what the server says comes by the binding of the second one, where no data
# ever was.
keepalive() { # UPLINKS
    local serve forward target status heard to=10.92.0.1 router life=${LIFE:-20} silence=${SILENCE:-30}
    translators "$1"
    [ "$1" = 1 ] || to+=,10.92.1.1
    for router in r s; do
        on $router sysctl -qw "net.netfilter.nf_conntrack_udp_timeout=$life" "net.netfilter.nf_conntrack_udp_timeout_stream=$life"
        [ "$1" = 2 ] || break
    done
    on z python3 -c '
import socket, sys, time
with socket.create_server(("127.0.0.1", 7000)) as server:
    here, _ = server.accept()
    here.recv(1)
    time.sleep(float(sys.argv[1]))
    here.sendall(repr(time.time()).encode())' "$silence" 2> "$WORK/target.log" &
    target=$!
    on z timeout "$LIMIT" "$BYWAY" serve --unprotected --allow 127.0.0.1:7000 --bind $to "${BOTH[@]}" > "$WORK/serve.log" 2>&1 &
    serve=$!
    sleep 0.5
    on a timeout "$LIMIT" "$BYWAY" forward --listen 127.0.0.1:7001=127.0.0.1:7000 --to $to "${BOTH[@]}" > "$WORK/forward.log" 2>&1 &
    forward=$!
    sleep 0.5
    on a python3 -c '
import socket, sys, time
with socket.create_connection(("127.0.0.1", 7001)) as here:
    here.settimeout(float(sys.argv[1]) + 3)
    here.sendall(b"?")
    said = here.recv(100)
    print(round((time.time() - float(said)) * 1000))' "$silence" > "$WORK/heard" 2> "$WORK/heard.log" &
    heard=$!
    if [ "$1" = 2 ]; then
        sleep "$((silence - 1)).7"
        cut_router r
    fi
    wait $heard
    status=$?
    heard=$(cat "$WORK/heard")
    kill $serve $forward $target 2> /dev/null
    wait $serve $forward $target
    [ $status = 0 ] && [ -z "$BROKEN" ] && [ "${heard:-9999}" -le 500 ]
    verdict "nat, $1 uplinks, bindings of $life s, nothing said for $silence s: data of the server came after ${heard:-?} ms" $? \
        "at most 500 ms; $BROKEN$(tail -n 1 "$WORK/heard.log") $(tail -n 1 "$WORK/forward.log") $(tail -n 1 "$WORK/serve.log")"
}

# For the controls.
keepalive_of_5s() {
    local LIMIT=30
    LIFE=5 SILENCE=7 keepalive 1
}

drill_keepalive() {
    keepalive 1
    keepalive 2
}

# The server has two addresses, and the translator gives each a binding of its own. What arrives at one of them is answered
# from there.
two_addresses() { # UPLINKS
    local to=10.92.0.1,10.92.1.1 cards=(e0) server client status
    translators "$1"
    limit a e0 10mbit
    limit z e0 10mbit
    if [ "$1" = 1 ]; then
        on z ip addr add 10.92.1.1/32 dev e0
        on r ip route add 10.92.1.1/32 via 10.92.0.1
        on a ip route add 10.92.1.0/24 via 192.168.7.254
    else
        cards+=(e1)
        limit a e1 10mbit
        limit z e1 10mbit
    fi
    watch_z "${cards[@]}"
    exchange_between "$to"
    sleep 1.4
    # With one uplink both addresses are reached by one card.
    in_use e0
    # The first path is cut before z, so that data goes to a port that was never of the handshake.
    on r nft add table ip cut
    on r nft 'add chain ip cut forward { type filter hook forward priority 0; }'
    on r nft add rule ip cut forward ip daddr 10.92.0.1 drop
    on r nft add rule ip cut forward ip saddr 10.92.0.1 drop
    kill -0 $client || BROKEN+="the exchange ended before the fault; "
    wait $client
    status=$?
    wait $server || status=1
    [ $status = 0 ] && [ -z "$BROKEN" ] && exchanged "$WORK/client" "$WORK/server"
    verdict "nat, $1 uplinks, a server with two addresses, the first is cut" $? "status $status; $BROKEN$(tail -n 1 "$WORK/client.log")"
    seen_at_z "nat, $1 uplinks, a server with two addresses" $to
}

# For the controls.
two_addresses_of_one_card() { two_addresses 1; }

drill_nat() {
    local SERVER=(--json)
    translators 1
    limit a e0 50mbit
    begin 20 10.92.0.1 10.92.0.1
    complete "nat, one uplink" 8

    translators 2
    limit a e0 50mbit
    limit a e1 50mbit
    # Without N1's remedy it died within 7 s.
    begin 60 10.92.0.1,10.92.1.1 10.92.0.1,10.92.1.1
    complete "nat, two uplinks, no fault" 15

    translators 2
    limit a e0 50mbit
    limit a e1 50mbit
    begin 20 10.92.0.1,10.92.1.1 10.92.0.1,10.92.1.1
    middle 1.5 e0
    cut_router r
    complete "nat, two uplinks, the first is cut" 8
    stalled_less "nat, two uplinks, the first is cut" 250

    translators 2
    limit a e0 50mbit
    begin 40 10.92.0.1,10.92.1.1 10.92.0.1
    complete "nat, one address given of a server with two" 12

    two_addresses 1
    two_addresses 2
}
