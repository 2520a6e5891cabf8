# shellcheck shell=bash disable=SC2034
# Clients behind translators (NAT) that give each binding a port of its own.

# The port that r gives what a sends from its UDP port.
port_of_binding() {
    on r conntrack -L -p udp 2>/dev/null | sed -n 's/.*src=192\.168\.7\.1 .* dst=10\.92\.0\.254 sport=9899 dport=\([0-9]*\).*/\1/p' | head -n 1
}

forget() { # the translator r forgets its bindings: the next packet gets another port
    local before
    before=$(port_of_binding)
    on r conntrack -F > /dev/null 2>&1
    sleep 0.3
    REBOUND="port $before, then $(port_of_binding)"
    [ -n "$before" ] && [ "$(port_of_binding)" != "$before" ] && [ -n "$(port_of_binding)" ] ||
        BROKEN="the binding did not change: $REBOUND; "
}

# An exchange (crates/byway/examples/exchange.rs): data both ways at once, 4.9 MB each, between a and z.
exchange() { # NS OUT WORDS...: in the background
    local ns=$1 out=$2
    shift 2
    on "$ns" timeout "$LIMIT" "$EXCHANGE" "$@" > "$out" 2> "$out.log" &
}

# What one end sent and the other end received on each stream.
sums() { sed -n "s/^$1 //p" "$2" | sort; }

exchanged() { # CLIENT SERVER COUNT: both ends have the same sums; COUNT clients were served
    local each
    each=$(sums sent "$1")
    [ "$(wc -l <<<"$each")" = 43 ] || return
    [ "$(sums received "$1")" = "$(sums sent "$2" | uniq)" ] && [ "$each" = "$(sums received "$2" | uniq)" ] &&
        [ "$(sums received "$2" | wc -l)" = $((43 * $3)) ]
}

drill_rebinding() {
    local SERVER=(--json) uplinks to server client status pause
    for uplinks in 1 2; do
        translators $uplinks
        to=10.92.0.1
        [ $uplinks = 1 ] || to=10.92.0.1,10.92.1.1
        limit a e0 50mbit
        [ $uplinks = 1 ] || limit a e1 50mbit
        begin 20 $to $to
        middle 1.5
        forget
        complete "nat, $uplinks uplinks: the binding changes in mid-transfer, $REBOUND" 8
        stalled_less "nat, $uplinks uplinks, a new binding" 500

        # The same with data both ways.
        translators $uplinks
        limit a e0 10mbit
        limit z e0 10mbit
        [ $uplinks = 1 ] || { limit a e1 10mbit && limit z e1 10mbit; }
        exchange z "$WORK/server" accept --bind "${to//,/:9899,}:9899"
        server=$!
        sleep 0.3
        exchange a "$WORK/client" connect --bind 0.0.0.0:9899 --to "${to//,/:9899,}:9899"
        client=$!
        sleep 1.5
        forget
        kill -0 $client || BROKEN+="the exchange ended before the fault; "
        wait $client
        status=$?
        wait $server || status=1
        pause=$(sed -n 's/^pause //p' "$WORK/client" "$WORK/server" | sort -n | tail -n 1)
        [ $status = 0 ] && [ -z "$BROKEN" ] && exchanged "$WORK/client" "$WORK/server" 1 && [ "${pause:-9999}" -le 500 ]
        verdict "nat, $uplinks uplinks: the binding changes, data both ways; nothing for ${pause:-?} ms at most" $? \
            "at most 500 ms; $BROKEN$(tail -n 1 "$WORK/client.log")"
    done
}

# Two clients behind one address, with one SCTP port: only the translator's UDP ports tell them apart.
drill_neighbours() {
    local server client other status ports
    fresh a z r s
    cable a e0 192.168.7.1 r in 192.168.7.254
    cable s e0 192.168.9.1 r next 192.168.9.254
    cable r out 10.92.0.254 z e0 10.92.0.1
    on a ip route add 10.92.0.0/24 via 192.168.7.254
    on s ip route add 10.92.0.0/24 via 192.168.9.254
    masquerade r
    limit r out 20mbit
    limit z e0 20mbit
    exchange z "$WORK/server" accept --at-once 2 --bind 10.92.0.1:9899
    server=$!
    sleep 0.3
    exchange a "$WORK/client" connect --port 5001 --bind 0.0.0.0:9899 --to 10.92.0.1:9899
    client=$!
    sleep 0.5
    exchange s "$WORK/other" connect --port 5001 --bind 0.0.0.0:9899 --to 10.92.0.1:9899
    other=$!
    sleep 1
    ports=$(on r conntrack -L -p udp 2> /dev/null | grep -c 'src=192\.168\.[79]\.1 dst=10\.92\.0\.1 sport=9899')
    [ "$ports" = 2 ] && kill -0 $client && kill -0 $other || BROKEN+="the two did not go on side by side; "
    wait $client
    status=$?
    wait $other || status=1
    wait $server || status=1
    [ $status = 0 ] && [ -z "$BROKEN" ] && exchanged "$WORK/client" "$WORK/server" 2 && exchanged "$WORK/other" "$WORK/server" 2
    verdict "nat, two clients behind one address with one SCTP port" $? \
        "status $status; $BROKEN$(tail -n 1 "$WORK/client.log") $(tail -n 1 "$WORK/other.log") $(tail -n 1 "$WORK/server.log")"
}

# A translator that forgets a binding after 20 s. The client waits for 30 s; then the server has something to say.
drill_keepalive() {
    local serve forward target status heard
    command -v python3 > /dev/null || { echo "the drill keepalive needs python3" >&2; exit 2; }
    translators 1
    on r sysctl -qw net.netfilter.nf_conntrack_udp_timeout=20 net.netfilter.nf_conntrack_udp_timeout_stream=20
    on z python3 -c '
import socket, time
with socket.create_server(("127.0.0.1", 7000)) as server:
    here, _ = server.accept()
    here.recv(1)
    time.sleep(30)
    here.sendall(repr(time.time()).encode())' 2> "$WORK/target.log" &
    target=$!
    on z timeout "$LIMIT" "$BYWAY" serve --unprotected --allow 127.0.0.1:7000 --bind 10.92.0.1 "${BOTH[@]}" > "$WORK/serve.log" 2>&1 &
    serve=$!
    sleep 0.5
    on a timeout "$LIMIT" "$BYWAY" forward --listen 127.0.0.1:7001=127.0.0.1:7000 --to 10.92.0.1 "${BOTH[@]}" > "$WORK/forward.log" 2>&1 &
    forward=$!
    sleep 0.5
    heard=$(on a python3 -c '
import socket, time
with socket.create_connection(("127.0.0.1", 7001)) as here:
    here.settimeout(40)
    here.sendall(b"?")
    said = here.recv(100)
    print(round((time.time() - float(said)) * 1000))' 2> "$WORK/heard.log")
    status=$?
    kill $serve $forward $target 2> /dev/null
    wait $serve $forward $target
    [ $status = 0 ] && [ -z "$BROKEN" ] && [ "${heard:-9999}" -le 500 ]
    verdict "nat, a binding of 20 s, nothing said for 30 s: data of the server came after ${heard:-?} ms" $? \
        "at most 500 ms; $BROKEN$(tail -n 1 "$WORK/heard.log") $(tail -n 1 "$WORK/forward.log") $(tail -n 1 "$WORK/serve.log")"
}

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
    middle 1.5
    on r nft add table ip cut
    on r nft 'add chain ip cut forward { type filter hook forward priority 0; policy drop; }'
    complete "nat, two uplinks, the first is cut" 8
    stalled_less "nat, two uplinks, the first is cut" 400

    translators 2
    limit a e0 50mbit
    begin 40 10.92.0.1,10.92.1.1 10.92.0.1
    complete "nat, one address given of a server with two" 12
}
