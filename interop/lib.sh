# shellcheck shell=bash
# A laboratory for tests between two network namespaces with two paths. Sourced, not run.
#
# Namespaces BASE-a and BASE-b are joined by two cards each, path1 and path2:
#
#   a  10.83.1.1  fd83:1::1  path1 ---------- path1  10.83.1.2  fd83:1::2  b
#      10.83.2.1  fd83:2::1  path2 ---------- path2  10.83.2.2  fd83:2::2
#
# Names carry this process's id, so several runs can go on at once; everything is removed on
# exit, interrupted or not.

set -u
INTEROP=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_BASE=byway$$
LAB_TMP=
LAB_PIDS=()
LAB_NAMESPACES=()
LAB_AT_EXIT=()
UDP_PORT=9899

say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $*"; exit 2; }

lab_end() {
    local status=$? pid i command
    # A subshell that is ended before it has begun still has the traps of this shell.
    [ "$BASHPID" = $$ ] || exit "$status"
    trap - EXIT INT TERM
    for pid in ${LAB_PIDS[@]+"${LAB_PIDS[@]}"}; do kill "$pid" 2>/dev/null; done
    for ((i = 0; i < 20; i++)); do
        lab_any_alive || break
        sleep 0.1
    done
    for pid in ${LAB_PIDS[@]+"${LAB_PIDS[@]}"}; do kill -KILL "$pid" 2>/dev/null; done
    for command in ${LAB_AT_EXIT[@]+"${LAB_AT_EXIT[@]}"}; do eval "$command"; done
    for i in ${LAB_NAMESPACES[@]+"${LAB_NAMESPACES[@]}"}; do ip netns del "$i" 2>/dev/null; done
    if [ -n "${INTEROP_KEEP:-}" ]; then say "kept: $LAB_TMP"; else rm -rf "$LAB_TMP"; fi
    exit "$status"
}

lab_any_alive() {
    local pid
    for pid in ${LAB_PIDS[@]+"${LAB_PIDS[@]}"}; do kill -0 "$pid" 2>/dev/null && return 0; done
    return 1
}

# Checks the tools, makes the scratch folder and the clean-up. INTEROP_KEEP=1 keeps the folder.
lab_begin() {
    local tool missing=
    [ "$(id -u)" = 0 ] || die "must run as root (network namespaces)"
    for tool in ip nft nsenter tc timeout stat sha256sum "$@"; do
        command -v "$tool" >/dev/null || missing="$missing $tool"
    done
    [ -z "$missing" ] || die "missing tools:$missing (apt-get install iproute2 nftables ethtool tshark gcc libusrsctp-dev libmd-dev)"
    LAB_TMP=$(mktemp -d "${TMPDIR:-/tmp}/$LAB_BASE.XXXXXX") || die "cannot make a scratch folder"
    trap lab_end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# Runs a command in namespace $1.
in_ns() { local ns=$1; shift; nsenter --net="/run/netns/$ns" -- "$@"; }

# Starts a command in the background for at most $1 seconds; its pid is then in LAB_PID.
# Output goes to $2 and messages to $3.
lab_start() {
    local limit=$1 out=$2 err=$3
    shift 3
    timeout --kill-after=5 "$limit" "$@" >"$out" 2>"$err" &
    LAB_PID=$!
    LAB_PIDS+=("$LAB_PID")
}

lab_stop() {
    kill "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

# --- two namespaces, two paths ---------------------------------------------------------

# Rules that drop what arrives on a card in the set `down`. Dropping at arrival is what makes a
# cut silent: a drop on output would return an error to the sender.
lab_droppable() {
    in_ns "$1" nft -f - <<'RULES'
table inet lab {
    set down { type ifname; }
    chain arrival { type filter hook prerouting priority -300; iifname @down counter drop; }
}
RULES
}

# Whole packets on the wire, for the capture and for the queue of lab_rate: without this, a
# burst that the stack sends in one piece is seen as one huge packet.
lab_no_offload() { in_ns "$1" ethtool -K "$2" tso off gso off gro off tx-udp-segmentation off >/dev/null 2>&1; }

lab_pair() {
    local side ns i
    LAB_A=$LAB_BASE-a LAB_B=$LAB_BASE-b
    for ns in "$LAB_A" "$LAB_B"; do
        ip netns add "$ns" || die "cannot make namespace $ns"
        LAB_NAMESPACES+=("$ns")
        ip -n "$ns" link set lo up
        in_ns "$ns" sh -c 'echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
            echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad' 2>/dev/null
        lab_droppable "$ns" || die "nft cannot set up rules in namespace $ns"
    done
    for i in 1 2; do
        ip -n "$LAB_A" link add "path$i" type veth peer name "path$i" netns "$LAB_B" ||
            die "cannot make path $i"
        for side in 1:"$LAB_A" 2:"$LAB_B"; do
            ns=${side#*:}
            ip -n "$ns" addr add "10.83.$i.${side%%:*}/24" dev "path$i" &&
                ip -n "$ns" addr add "fd83:$i::${side%%:*}/64" dev "path$i" nodad &&
                ip -n "$ns" link set "path$i" up || die "cannot set up path $i"
            lab_no_offload "$ns" "path$i"
        done
    done
}

# Limits what namespace $1 sends on each path to $2 (tc's notation), so that a transfer lasts
# long enough to be cut in the middle.
lab_rate() {
    local i
    for i in 1 2; do
        in_ns "$1" tc qdisc replace dev "path$i" root tbf rate "$2" burst 32k limit 256k ||
            die "cannot limit the rate of path $i"
    done
}

lab_cut() { # PATH: silently, in both directions; no card goes down
    in_ns "$LAB_A" nft add element inet lab down "{ path$1 }" &&
        in_ns "$LAB_B" nft add element inet lab down "{ path$1 }"
}

lab_restore() {
    in_ns "$LAB_A" nft delete element inet lab down "{ path$1 }" 2>/dev/null
    in_ns "$LAB_B" nft delete element inet lab down "{ path$1 }" 2>/dev/null
    return 0
}

# Bytes that card path$2 of namespace $1 received ($3 rx) or sent ($3 tx).
lab_bytes() {
    in_ns "$1" awk -v card="path$2:" -v column="$([ "$3" = rx ] && echo 2 || echo 10)" \
        '{ sub(/:/, ": ") } $1 == card { print $column }' /proc/net/dev
}

# Waits until namespace $1 has something bound to UDP port $2.
lab_wait_udp() {
    local i
    for ((i = 0; i < 200; i++)); do
        if [ -n "$(in_ns "$1" ss -Hanu "sport = :$2")" ]; then
            sleep 0.3 # the socket is open before the endpoint listens
            return 0
        fi
        sleep 0.05
    done
    return 1
}

# Waits until namespace $1 has a raw socket of SCTP (protocol 132, 84 in /proc's hexadecimal).
lab_wait_raw() {
    local i
    for ((i = 0; i < 200; i++)); do
        if in_ns "$1" grep -q ':0084 ' /proc/net/raw /proc/net/raw6; then
            sleep 0.3 # the socket is open before the endpoint listens
            return 0
        fi
        sleep 0.05
    done
    return 1
}

# --- packets ------------------------------------------------------------------------------

# Captures both paths of namespace $1 to $2.path1.pcapng and $2.path2.pcapng. The taps see what
# arrives before the drop rule, so one end's cards show every packet of both ends.
lab_capture() {
    local i j
    LAB_CAPTURES=()
    for i in 1 2; do
        lab_start 600 /dev/null "$2.path$i.log" nsenter --net="/run/netns/$1" -- \
            dumpcap -q -B 64 -i "path$i" -w "$2.path$i.pcapng"
        LAB_CAPTURES+=("$LAB_PID")
    done
    for i in 1 2; do
        for ((j = 0; j < 100; j++)); do
            [ ! -s "$2.path$i.pcapng" ] || continue 2
            sleep 0.05
        done
        return 1
    done
}

lab_capture_end() {
    local pid
    sleep 0.3 # what is still in dumpcap's buffer
    for pid in "${LAB_CAPTURES[@]}"; do lab_stop "$pid"; done
    LAB_CAPTURES=()
}

# Does every packet of capture $1 that display filter $2 lets through dissect clean: SCTP (in UDP
# on UDP_PORT), a good CRC32c, nothing malformed, no error by the dissector? The dissector's table
# goes to $3. Adds to LAB_PACKETS; sets LAB_DISSECT if not.
lab_dissect_file() {
    local counts bad
    # Payload is random bytes: nothing above SCTP is to be guessed from it.
    if ! timeout 300 tshark -n -r "$1" -d "udp.port==$UDP_PORT,sctp" \
        -o 'sctp.checksum:CRC 32c' -o sctp.tsn_analysis:FALSE \
        -o sctp.reassembly:FALSE -o sctp.ulp_dissection:FALSE -Y "$2" \
        -T fields -E 'separator=|' -e frame.number -e sctp.checksum.status \
        -e _ws.expert.severity -e _ws.expert.message >"$3" 2>"$3.err"; then
        LAB_DISSECT="tshark failed: $(tail -1 "$3.err")"
        return 1
    fi
    # checksum status 1: good; severity 0x800000: error
    counts=$(awk -F '|' '{ n++ }
        $2 != "1" || $4 ~ /[Mm]alformed/ || $3 ~ /8388608|0x00800000|[Ee]rror/ { bad++; if (!first) first = $0 }
        END { printf "%d %d %s", n, bad, first }' "$3")
    bad=${counts#* }
    LAB_PACKETS=$((LAB_PACKETS + ${counts%% *}))
    if [ "${bad%% *}" != 0 ]; then
        LAB_DISSECT="${bad%% *} of ${counts%% *} packets do not dissect clean, first: ${bad#* }"
        return 1
    fi
}

# The same of both captures $1.path{1,2}.pcapng, whose packets are SCTP in UDP, or with $2 `none`
# without, or with `both` either. A packet of the other kind is a fault. Sets LAB_PACKETS and LAB_DISSECT.
lab_dissect() {
    local i udp="udp.port == $UDP_PORT" raw='(ip.proto == 132 || ipv6.nxt == 132)' other
    LAB_PACKETS=0 LAB_DISSECT=
    for i in 1 2; do
        if ! lab_dissect_file "$1.path$i.pcapng" "($udp || $raw) && !icmp && !icmpv6" "$1.path$i.dissected"; then
            LAB_DISSECT="path $i: $LAB_DISSECT"
            return 1
        fi
        case ${2:-udp} in udp) other=$raw ;; none) other=$udp ;; both) continue ;; esac
        other=$(tshark -n -r "$1.path$i.pcapng" -d "udp.port==$UDP_PORT,sctp" -Y "$other && !icmp && !icmpv6" 2>"$1.path$i.dissected.err") ||
            { LAB_DISSECT="path $i: tshark failed: $(tail -1 "$1.path$i.dissected.err")"; return 1; }
        if [ -n "$other" ]; then
            LAB_DISSECT="path $i: $(wc -l <<<"$other") packets that are not ${2:-udp}, first: $(head -n 1 <<<"$other")"
            return 1
        fi
    done
    [ "$LAB_PACKETS" -gt 0 ] || { LAB_DISSECT="no packet captured"; return 1; }
}

# Longest time, in ms, that file $1 did not grow while process $2 ran, until it was $3 bytes;
# written to $4. Good to about 30 ms.
lab_watch_stall() {
    local size=0 now last start longest=0
    start=${EPOCHREALTIME/[.,]/}
    last=0
    while kill -0 "$2" 2>/dev/null; do
        now=$(stat -c %s "$1" 2>/dev/null || echo 0)
        start=${EPOCHREALTIME/[.,]/}
        if [ "$now" != "$size" ]; then
            [ "$last" = 0 ] || [ $((start - last)) -le "$longest" ] || longest=$((start - last))
            size=$now
            last=$start
            [ "$size" -lt "$3" ] || break
        fi
        sleep 0.02
    done
    echo $((longest / 1000)) >"$4"
}
