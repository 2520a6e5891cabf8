# shellcheck shell=bash disable=SC2034
# Ctrl-C (SIGINT), SIGTERM and SIGHUP end each command within a second, in the middle of its work, also where the peer is cut off.

starts() { # NS LOG COMMAND [OPTIONS...]: byway in the background; its process is $!
    # A shell lets its background processes ignore SIGINT, `ip netns exec` becomes byway.
    (exec env --default-signal=INT,HUP ip netns exec "$ID$1" "$BYWAY" "${@:3}") < "$WORK/file" > /dev/null 2> "$WORK/$2" &
}

busy() { # COMMAND: it and its peer, with data on the way; OWN and PEER are their processes
    local to=10.93.0.2,10.93.1.2 server client serving asking
    rm -rf "$WORK/got" && mkdir "$WORK/got"
    two_links
    case $1 in
        recv | send)
            serving=(recv --unprotected --bind $to --dir "$WORK/got")
            asking=(send "$WORK/file" --to $to)
            ;;
        listen | cat)
            serving=(listen --unprotected --bind $to)
            asking=(cat --to $to)
            ;;
        serve | forward)
            serving=(serve --unprotected --allow 127.0.0.1:7000 --bind $to)
            asking=(forward --listen 127.0.0.1:7001=127.0.0.1:7000 --to $to)
            (exec ip netns exec "${ID}z" python3 -c '
import socket
with socket.create_server(("127.0.0.1", 7000)) as server:
    here, _ = server.accept()
    while here.recv(65536):
        pass') 2> /dev/null &
            TUNNELLED=$!
            # Until both ends are there.
            # shellcheck disable=SC2016
            (exec ip netns exec "${ID}a" bash -c 'until exec 3> /dev/tcp/127.0.0.1/7001 && cat "$0" >&3; do sleep 0.1; done' "$WORK/file") 2> /dev/null &
            TUNNELLED+=" $!"
            ;;
    esac
    starts z recv.log "${serving[@]}"
    server=$!
    sleep 0.3
    starts a send.log "${asking[@]}"
    client=$!
    case $1 in
        recv | listen | serve) OWN=$server PEER=$client ;;
        *) OWN=$client PEER=$server ;;
    esac
}

signal_ends() { # COMMAND
    local links name status expected began took sent times='' wrong=''
    for links in "" cut; do
        for name in INT TERM HUP; do
            TUNNELLED=''
            busy "$1"
            for _ in $(seq 100); do
                sleep 0.1
                sent=$(on a cat /sys/class/net/e0/statistics/tx_bytes)
                [ "$sent" -lt 1000000 ] || break
            done
            [ "$sent" -ge 1000000 ] && kill -0 $OWN && kill -0 $PEER || BROKEN+="no data was on the way; "
            [ -z "$links" ] || cut_all on
            if [ -n "${LATE:-}" ]; then
                kill -STOP $OWN
                (sleep 1.5 && kill -CONT $OWN) &
            fi
            began=$(date +%s%N)
            kill -$name $OWN
            wait $OWN
            status=$?
            took=$((($(date +%s%N) - began) / 1000000))
            times+=" $took"
            case $name in INT) expected=130 ;; TERM) expected=143 ;; HUP) expected=129 ;; esac
            [ $status = $expected ] && [ $took -le 1000 ] && [ -z "$BROKEN" ] ||
                wrong+="SIG$name ${links:-, the links work}: status $status after $took ms; $BROKEN"
            # shellcheck disable=SC2086
            kill $PEER $TUNNELLED 2> /dev/null
            # shellcheck disable=SC2086
            wait $PEER $TUNNELLED
        done
    done 2> /dev/null
    [ -z "$wrong" ]
    verdict "$1 ends for SIGINT, SIGTERM and SIGHUP after$times ms, the last three with the links cut" $? "at most 1000 ms; $wrong"
}

# A second signal often follows at once, while the namespaces are on their way out. And a program that the receiver's command left in
# the background would go on with neither network nor name; one ignores SIGTERM. A terminal sends Ctrl-C to all that byway has started
# (GROUP), a supervisor sends to byway alone.
emulation_ends() { # [SIGNAL]: this one in place of two of each kind
    local gap name signal own status expected before pids left wrong='' tried=0
    for gap in 0 0.002 0.01 0.05 0.2; do
        for name in ${1:-INT TERM GROUP}; do
            # shellcheck disable=SC2016
            (exec setsid env --default-signal=INT "$BYWAY" emulate --quiet --name "${ID}e" \
                --receiver '(trap "" TERM; while :; do sleep 0.1; done) & sleep 300 & exec sleep 300' -- sleep 300) < /dev/null &> /dev/null &
            own=$!
            for _ in $(seq 100); do
                pids=$(ip netns pids "${ID}e-receiver")
                [ "$(wc -w <<< "$pids")" -lt 4 ] || break
                sleep 0.1
            done
            [ "$(wc -w <<< "$pids")" -ge 4 ] || wrong+='the programs did not begin; '
            pids+=" $(ip netns pids "${ID}e-sender")"
            case $name in
                GROUP) signal=(-INT -- "-$own") ;;
                *) signal=("-$name" $own) ;;
            esac
            kill "${signal[@]}"
            sleep $gap
            kill "${signal[@]}"
            wait $own
            status=$?
            case $name in INT | GROUP) expected=130 ;; TERM) expected=143 ;; KILL) expected=137 ;; esac
            left=$(ip netns list | grep -c "^${ID}e-")
            for before in $pids; do
                # One that has ended and that nobody waited for has no words.
                before=$(tr '\0' ' ' < "/proc/$before/cmdline")
                left+=${before:+, $before}
            done
            [ $status = $expected ] && [ "$left" = 0 ] || wrong+="$name twice, $gap s apart: status $status, left: $left; "
            tried=$((tried + 1))
            # Whatever is left must not disturb the next one.
            for before in $(ip netns list | sed -n "s/^\(${ID}e-[a-z]*\).*/\1/p"); do
                ip netns pids "$before" | xargs -r kill -KILL
                ip netns del "$before"
            done
        done
    done 2> /dev/null
    [ -z "$wrong" ]
    verdict "emulate ends at two signals, $tried times, with its namespaces and the programs in them" $? "$wrong"
}

emulation_killed() { emulation_ends KILL; }

# For the controls.
cat_ends() {
    head -c 50000000 /dev/zero > "$WORK/file"
    signal_ends cat
}

drill_ends() {
    local each
    head -c 50000000 /dev/zero > "$WORK/file"
    for each in recv send listen cat serve forward; do signal_ends $each; done
    emulation_ends
}
