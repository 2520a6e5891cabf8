# shellcheck shell=bash disable=SC2034
# Hosts and routers in network namespaces, and the networks that several drills use.
# a is the client, z the server; r and s are routers, or others; p is another client.

BROKEN= # what could not be set up: a fault that did not happen must not pass
on() {
    local ns=$1 status
    shift
    ip netns exec "$ID$ns" "$@"
    status=$?
    [ $status = 0 ] || BROKEN="'$*' failed; "
    return $status
}

away() { # all namespaces go
    local ns
    for ns in a z r s p; do
        ip netns del "$ID$ns" 2>/dev/null
        rm -rf "/etc/netns/$ID$ns"
    done
}

fresh() { # NS...: empty namespaces
    local ns
    BROKEN=
    away
    for ns in "$@"; do
        ip netns add "$ID$ns"
        # Else addresses of IPv6 wait for a second or two.
        on "$ns" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
        on "$ns" ip link set lo up
        # The larger value of `all` and of the card counts; `default` is what cards begin with.
        on "$ns" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter="${RP_FILTER:-0}" \
            net.ipv4.conf.default.rp_filter="${RP_FILTER:-0}"
    done
}

cable() { # NS CARD ADDRESS  NS CARD ADDRESS
    ip -n "$ID$1" link add "$2" type veth peer name "$5" netns "$ID$4"
    on "$1" ip addr add "$3/24" dev "$2"
    on "$4" ip addr add "$6/24" dev "$5"
    on "$1" ip link set "$2" up
    on "$4" ip link set "$5" up
}

ipv6() { # NS CARD ADDRESS  NS CARD ADDRESS: the same cable's addresses of IPv6
    on "$1" ip -6 addr add "$3/64" dev "$2" nodad
    on "$4" ip -6 addr add "$6/64" dev "$5" nodad
}

limit() { # NS CARD RATE [BURST]: a transfer lasts long enough for something to happen in the middle
    on "$1" tc qdisc replace dev "$2" root tbf rate "$3" burst "${4:-20kb}" latency 50ms
}

deafen() { # NS CARD: drops what arrives, without a word; no card goes down
    on "$1" nft add table inet cut
    on "$1" nft 'add chain inet cut in { type filter hook prerouting priority -300; }'
    on "$1" nft add rule inet cut in iifname "$2" drop
}

sent() { # a line for each card of a: its name, bytes and packets that it has sent, of one moment
    on a ip -s -j link show | jq -r '.[] | "\(.ifname) \(.stats64.tx.bytes) \(.stats64.tx.packets)"'
}

# --- a --- r --- z ---------------------------------------------------------------------------------

one_router() { # MTU behind the router
    fresh a z r
    cable a e0 10.91.0.1 r ra 10.91.0.254
    cable z e0 10.91.1.1 r rz 10.91.1.254
    on a ip route add default via 10.91.0.254
    on z ip route add default via 10.91.1.254
    narrow "$1"
}

one_router_of_ipv6() { # MTU behind the router: the same, and IPv6
    one_router "$1"
    on r sysctl -qw net.ipv6.conf.all.forwarding=1
    ipv6 a e0 fd91:0::1 r ra fd91:0::254
    ipv6 z e0 fd91:1::1 r rz fd91:1::254
    on a ip -6 route add default via fd91:0::254
    on z ip -6 route add default via fd91:1::254
}

narrow() { # MTU
    on r ip link set rz mtu "$1"
    on z ip link set e0 mtu "$1"
}

silent() { # [ROUTER]: it does not tell that packets are too large
    local router=${1:-r}
    on "$router" nft add table inet drill
    on "$router" nft 'add chain inet drill out { type filter hook output priority 0; }'
    on "$router" nft add rule inet drill out icmp type destination-unreachable drop
    on "$router" nft add rule inet drill out icmpv6 type packet-too-big drop
}

# --- two paths, each over a router of its own: a --- r --- z, a --- s --- z -----------------------------

two_routers() {
    local n=0 router
    fresh a z r s
    for router in r s; do
        cable a e$n 10.99.1$n.1 $router in 10.99.1$n.254
        cable z e$n 10.99.2$n.1 $router out 10.99.2$n.254
        on a ip route add 10.99.2$n.0/24 via 10.99.1$n.254
        on z ip route add 10.99.1$n.0/24 via 10.99.2$n.254
        limit a e$n 50mbit
        n=$((n + 1))
    done
}

two_routers_of_ipv6() { # the same, and IPv6
    local n=0 router
    two_routers
    for router in r s; do
        on $router sysctl -qw net.ipv6.conf.all.forwarding=1
        ipv6 a e$n fd99:1$n::1 $router in fd99:1$n::254
        ipv6 z e$n fd99:2$n::1 $router out fd99:2$n::254
        on a ip -6 route add fd99:2$n::/64 via fd99:1$n::254
        on z ip -6 route add fd99:1$n::/64 via fd99:2$n::254
        n=$((n + 1))
    done
}

two_routers_of_9000() { # PATHS: "0" or "0 1" carry 9000 bytes
    local n router
    two_routers
    for n in $1; do
        router=r
        [ "$n" = 0 ] || router=s
        on a ip link set "e$n" mtu 9000
        on $router ip link set in mtu 9000
        narrow_path "$n" 9000
        limit a "e$n" 50mbit 40kb
    done
}

narrow_path() { # PATH MTU: 0 over r, 1 over s
    local router=r
    [ "$1" = 0 ] || router=s
    on $router ip link set out mtu "$2"
    on z ip link set "e$1" mtu "$2"
}

cut_router() { # ROUTER: it forwards no packet of IPv4 any more, without a word
    on "$1" nft add table ip cut
    on "$1" nft 'add chain ip cut forward { type filter hook forward priority 0; policy drop; }'
}

# --- NAT: a has an uplink through r, and maybe one through s ---------------------------------------

masquerade() { # ROUTER: and another port for each binding
    on "$1" nft add table ip drill
    on "$1" nft 'add chain ip drill post { type nat hook postrouting priority 100; }'
    on "$1" nft add rule ip drill post oifname out masquerade fully-random
}

translators() { # COUNT of uplinks and of server addresses
    fresh a z r s
    cable a e0 192.168.7.1 r in 192.168.7.254
    cable r out 10.92.0.254 z e0 10.92.0.1
    on a ip route add 10.92.0.0/24 via 192.168.7.254
    masquerade r
    if [ "$1" = 2 ]; then
        cable a e1 192.168.8.1 s in 192.168.8.254
        cable s out 10.92.1.254 z e1 10.92.1.1
        on a ip route add 10.92.1.0/24 via 192.168.8.254
        masquerade s
    fi
}

# --- a and z with two direct links -----------------------------------------------------------------

two_links() {
    fresh a z
    cable a e0 10.93.0.1 z e0 10.93.0.2
    cable a e1 10.93.1.1 z e1 10.93.1.2
    limit a e0 50mbit
    limit a e1 50mbit
}

leave() { # CARD: the address of a goes, as when a wireless network is left
    on a ip addr flush dev "$1"
    on a ip link set "$1" down
}

enter() { # CARD ADDRESS [GATEWAY]
    on a ip link set "$1" up
    on a ip addr add "$2/24" dev "$1"
    [ -z "${3:-}" ] || on a ip route add default via "$3"
}

policy_routing() { # a has two uplinks by source address, z two addresses far away
    fresh a z r s
    cable a e0 10.94.0.1 r in 10.94.0.254
    cable a e1 10.94.1.1 s in 10.94.1.254
    cable r out 10.95.0.254 z e0 10.95.0.1
    cable s out 10.95.1.254 z e1 10.95.1.1
    # Each router knows both networks behind it, and z the way back to each uplink.
    ip -n "${ID}r" link add x type veth peer name x netns "${ID}s"
    on r ip addr add 10.96.0.1/24 dev x
    on s ip addr add 10.96.0.2/24 dev x
    on r ip link set x up
    on s ip link set x up
    on r ip route add 10.95.1.0/24 via 10.96.0.2
    on s ip route add 10.95.0.0/24 via 10.96.0.1
    on r ip route add 10.94.1.0/24 via 10.96.0.2
    on s ip route add 10.94.0.0/24 via 10.96.0.1
    on z ip route add 10.94.0.0/24 via 10.95.0.254
    on z ip route add 10.94.1.0/24 via 10.95.1.254
    on a ip route add default via 10.94.0.254
    on a ip route add default via 10.94.0.254 table 100
    on a ip route add default via 10.94.1.254 table 101
    on a ip rule add from 10.94.0.1 table 100
    on a ip rule add from 10.94.1.1 table 101
    limit a e0 50mbit
    limit a e1 50mbit
}
