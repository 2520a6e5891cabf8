# shellcheck shell=bash disable=SC2034
# Programs of everyday use by way of `byway forward` and `byway serve`, over two paths with delay whose first one is cut in the
# middle. For the controls they go straight over the first path: then none of them may get through.
#
#   DRILL_MB=N         megabytes that curl takes (default 40; `DRILL_MB=1000 DRILL_LIMIT=200 interop/drills curl` takes 90 s)
#   DRILL_PROGRAMS=DIR where servers are unpacked that are not installed (default target/drill-programs)

PROGRAMS=${DRILL_PROGRAMS:-$ROOT/target/drill-programs}
MEGABYTES=${DRILL_MB:-40}
# Of a session, and of a download: what a program that asks each 100 ms may wait for. Without a failover it waits for minutes.
LONGEST_GAP=1000

# --- servers from Debian's packages ----------------------------------------------------------------

# They are unpacked and not installed: installed ones start services, and these are not for this machine's own use.
have_programs() { # PROGRAM:PACKAGE...
    local pair missing=() package
    for pair in "$@"; do program "${pair%:*}" > /dev/null || missing+=("${pair#*:}"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    mkdir -p "$PROGRAMS/debs" && (
        # Several drills begin at once.
        flock 9
        missing=()
        for pair in "$@"; do program "${pair%:*}" > /dev/null || missing+=("${pair#*:}"); done
        [ ${#missing[@]} -gt 0 ] || exit 0
        cd "$PROGRAMS/debs" || exit
        downloaded "${missing[@]}" || { apt-get update -q && downloaded "${missing[@]}"; } || exit
        for package in *.deb; do dpkg-deb --extract "$package" "$PROGRAMS" || exit; done
        rm -- *.deb
    ) 9> "$PROGRAMS/lock" > "$WORK/packages.log" 2>&1
    for pair in "$@"; do
        program "${pair%:*}" > /dev/null || { BROKEN+="there is no ${pair%:*}: $(tail -n 1 "$WORK/packages.log"); "; return 1; }
    done
}

downloaded() { # PACKAGE...: with the libraries that are not here either
    local names
    names=$(apt-get install --simulate --no-install-recommends "$@" | awk '/^Inst/ { print $2 }') && [ -n "$names" ] &&
        xargs apt-get download -q <<< "$names"
}

program() { # NAME: its file
    local file
    for file in "$PROGRAMS/usr/sbin/$1" "$PROGRAMS"/usr/lib/postgresql/*/bin/"$1" /usr/lib/postgresql/*/bin/"$1" "/usr/sbin/$1" "/usr/bin/$1"; do
        [ ! -x "$file" ] || { echo "$file"; return; }
    done
    return 1
}

libraries() { echo "$PROGRAMS/usr/lib/$(uname -m)-linux-gnu:$PROGRAMS/lib/$(uname -m)-linux-gnu"; }

# --- two hosts, two paths, a tunnel -----------------------------------------------------------------

LEFT=() # processes that end with the drill

# The client is -sender, the server -receiver: the hosts of `byway emulate`.
behind() { # NS LOG COMMAND...: in the background; its process is the last of LEFT
    (exec ip netns exec "$ID$1" env LD_LIBRARY_PATH="$(libraries)" "${@:3}") < /dev/null > "$WORK/$2" 2>&1 &
    LEFT+=($!)
}

two_far_hosts() { # round trips of 20 and 30 ms
    local path
    BROKEN='' LEFT=()
    mkdir -p "/etc/netns/$ID-receiver"
    printf 'limit = "60 s"\n[traffic]\nkind = "bulk"\nsize = "1 MiB"\n' > "$WORK/far.toml"
    for path in 10 15; do printf '[[path]]\nrate = "100 Mbit/s"\ndelay = "%s ms"\nqueue = "250 packets"\n' $path; done >> "$WORK/far.toml"
    "$BYWAY" emulate "$WORK/far.toml" --quiet --name "$ID" -- sleep $((LIMIT + 60)) < /dev/null > "$WORK/emulate.log" 2>&1 &
    LEFT+=($!)
    for _ in $(seq 100); do
        ! ip -n "$ID-receiver" -o -4 addr show dev path2 up 2> /dev/null | grep -q 10.2.0.2 || return 0
        sleep 0.05
    done
    BROKEN="no network: $(tail -n 1 "$WORK/emulate.log"); "
}

go_home() { # the processes of the drill end, the hosts last
    local n
    for ((n = ${#LEFT[@]} - 1; n >= 0; n--)); do
        kill "${LEFT[n]}"
        # Such as a postgres whose client is cut off.
        (sleep 1 && kill -KILL "${LEFT[n]}") &
        wait "${LEFT[n]}"
        kill $! && wait $!
    done 2> /dev/null
    LEFT=()
    rm -rf "/etc/netns/$ID-receiver"
}

answers() { # NS PORT: until something listens there
    for _ in $(seq 100); do
        [ -z "$(ip netns exec "$ID$1" ss -Hltn "sport = :$2")" ] || return 0
        sleep 0.1
    done
    BROKEN+="nothing listens on port $2; "
    return 1
}

# Sets HOST and PORT, which lead to this port of the server: by way of the tunnel, or without it if DIRECT is set.
tunnel() { # PORT
    HOST=10.1.0.2 PORT=$1
    answers -receiver "$1" || return
    [ -z "${DIRECT:-}" ] || return 0
    served --allow "127.0.0.1:$1"
    forwarded --listen 127.0.0.1:7001
    HOST=127.0.0.1 PORT=7001
    answers -sender 7001
}

served() { # OPTIONS...
    rm -f "$WORK/ticket"
    behind -receiver serve.log "$BYWAY" serve --bind 10.1.0.2,10.2.0.2 --ticket-to "$WORK/ticket" "$@"
    for _ in $(seq 50); do
        [ ! -s "$WORK/ticket" ] || return 0
        sleep 0.1
    done
    BROKEN+="byway serve has no ticket: $(tail -n 1 "$WORK/serve.log"); "
}

forwarded() { # OPTIONS...
    behind -sender forward.log "$BYWAY" forward --bind 10.1.0.1,10.2.0.1 --to "@$WORK/ticket" "$@"
}

# What arrives over the first path is dropped at both hosts; no card goes down. A path that carried nothing would be no fault.
cut_first_path() {
    local first
    first=$(on -sender cat /sys/class/net/path1/statistics/rx_bytes)
    [ "$first" -gt $((2 * $(second_path))) ] || BROKEN+="the path that is cut was not in use; "
    deafen -sender path1
    deafen -receiver path1
    SECOND=$(second_path)
}

second_path() { on -sender cat /sys/class/net/path2/statistics/rx_bytes; }

# --- what a program gets ------------------------------------------------------------------------------

# Milliseconds between the two lines of a file that are furthest apart, each of which begins with its time in µs.
longest_gap() { # FILE
    awk '{ if (NR > 1 && $1 - last > most) most = $1 - last; last = $1 } END { printf "%d\n", most / 1000 }' "$1"
}

stamped() { # standard input with the time of each line before it
    local line
    while IFS= read -r line; do printf '%s %s\n' "${EPOCHREALTIME/[.,]/}" "$line"; done
}

# A session: 40 lines in four seconds for a program, whose answers come with their times; the path is cut after the tenth answer.
session() { # LINE COMMAND...: N in the line is its number
    local line=$1 n status
    shift
    : > "$WORK/answers"
    (
        for n in $(seq 40); do
            echo "${line//N/$n}" || exit # the program has ended
            sleep 0.1
        done 2> /dev/null
        echo "${GOODBYE:-}" 2> /dev/null
    ) | timeout --kill-after=1 "$LIMIT" ip netns exec "$ID-sender" env LD_LIBRARY_PATH="$(libraries)" "$@" 2> "$WORK/client.log" |
        stamped > "$WORK/answers" &
    for _ in $(seq 100); do
        [ "$(wc -l < "$WORK/answers")" -lt 10 ] || break
        sleep 0.05
    done
    cut_first_path
    n=$(wc -l < "$WORK/answers")
    [ "$n" -ge 10 ] && [ "$n" -lt 30 ] || BROKEN+="the path was cut after $n of 40 answers; "
    wait $!
}

# --- the programs -------------------------------------------------------------------------------------

nginx_serves() { # port 8080: what is in $WORK/www, the folder slow at 20 kB a second each connection, after as much at once
    have_programs nginx:nginx || return
    mkdir -p "$WORK/nginx" "$WORK/www/slow"
    cat > "$WORK/nginx.conf" << END
daemon off; master_process off; pid $WORK/nginx/pid; error_log $WORK/nginx/errors;
events { }
http {
    access_log $WORK/nginx/asked;
    client_body_temp_path $WORK/nginx/1; proxy_temp_path $WORK/nginx/2; fastcgi_temp_path $WORK/nginx/3;
    uwsgi_temp_path $WORK/nginx/4; scgi_temp_path $WORK/nginx/5;
    types { text/html html; image/svg+xml svg; }
    server { listen 8080; root $WORK/www; location /slow/ { limit_rate 20k; } }
}
END
    behind -receiver nginx.log "$(program nginx)" -e "$WORK/nginx/errors" -c "$WORK/nginx.conf"
}

drill_curl() {
    local status curl now size=0 gap='' at=0
    two_far_hosts
    nginx_serves
    head -c "${MEGABYTES}000000" /dev/urandom > "$WORK/www/file"
    tunnel 8080
    : > "$WORK/came"
    timeout "$LIMIT" ip netns exec "$ID-sender" curl -sS --fail -o "$WORK/came" "http://$HOST:$PORT/file" 2> "$WORK/client.log" &
    curl=$!
    # The longest time in which the file did not grow, and the cut at a third of it.
    SECOND='' gap=0
    while kill -0 $curl 2> /dev/null; do
        now=${EPOCHREALTIME/[.,]/}
        if [ "$(stat -c %s "$WORK/came")" != "$size" ]; then
            size=$(stat -c %s "$WORK/came")
            [ $at = 0 ] || [ $(((now - at) / 1000)) -le "$gap" ] || gap=$(((now - at) / 1000))
            at=$now
            if [ -z "$SECOND" ] && [ "$size" -ge $((MEGABYTES * 333333)) ]; then
                cut_first_path
                [ "$size" -lt $((MEGABYTES * 800000)) ] || BROKEN+="the path was cut after $size bytes; "
            fi
        fi
        sleep 0.02
    done
    wait $curl
    status=$?
    SECOND=$(($(second_path) - ${SECOND:-0}))
    [ $status = 0 ] && [ -z "$BROKEN" ] && [ $SECOND -ge $((MEGABYTES * 200000)) ] && [ "$gap" -le $LONGEST_GAP ] &&
        [ "$(sha256sum < "$WORK/came")" = "$(sha256sum < "$WORK/www/file")" ]
    verdict "curl takes $MEGABYTES MB from nginx, the first path is cut: a stall of $gap ms, the same SHA-256" $? \
        "at most $LONGEST_GAP ms; status $status, $size bytes, $SECOND of them over the second path; ${BROKEN:+not tried: $BROKEN}$(tail -n 1 "$WORK/client.log")"
    go_home
}

drill_ssh() {
    local gap status=0
    two_far_hosts
    if have_programs sshd:openssh-server; then
        mkdir -p /run/sshd # Debian's sshd does not start without it
        ssh-keygen -q -t ed25519 -N '' -f "$WORK/host" && ssh-keygen -q -t ed25519 -N '' -f "$WORK/login"
        # The server sees accounts of its own: that of sshd, and root with this key.
        printf 'root:x:0:0:root:/:/bin/sh\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n' > "/etc/netns/$ID-receiver/passwd"
        printf 'root:*:19000::::::\nsshd:!:19000::::::\n' > "/etc/netns/$ID-receiver/shadow"
        printf '%s\n' "HostKey $WORK/host" "AuthorizedKeysFile $WORK/login.pub" 'StrictModes no' 'UsePAM no' 'PidFile none' \
            'PermitRootLogin prohibit-password' 'Port 22' 'PrintMotd no' > "$WORK/sshd.conf"
        behind -receiver sshd.log "$(program sshd)" -D -e -f "$WORK/sshd.conf"
    fi
    tunnel 22
    # A shell with a terminal.
    # shellcheck disable=SC2016 # the shell over there expands it
    GOODBYE=exit session 'echo answer N $$' ssh -tt -F none -i "$WORK/login" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
        -o LogLevel=ERROR -p "$PORT" "root@$HOST" 'stty -echo; PS1= exec sh -s'
    sed -nE 's/^([0-9]+) .*answer ([0-9]+) ([0-9]+).*/\1 \2 \3/p' "$WORK/answers" > "$WORK/said"
    gap=$(longest_gap "$WORK/said")
    # In order, all by one shell.
    [ "$(awk '{ print $2 }' "$WORK/said" | tr '\n' ' ')" = "$(seq -s ' ' 40) " ] &&
        [ "$(awk '{ print $3 }' "$WORK/said" | sort -u | wc -l)" = 1 ] && [ "$gap" -le $LONGEST_GAP ] && [ -z "$BROKEN" ]
    verdict "ssh, a shell that answers 40 times, the first path is cut: at most $gap ms between two answers" $? \
        "at most $LONGEST_GAP ms; $(wc -l < "$WORK/said") answers; ${BROKEN:+not tried: $BROKEN}$(tail -n 1 "$WORK/client.log" "$WORK/sshd.log" | tr '\n' ' ')"
    go_home
}

drill_psql() {
    # Postgres does not run as root, who alone enters $WORK.
    local db gap as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    two_far_hosts
    if have_programs initdb:postgresql psql:postgresql-client; then
        db=$(mktemp -d) && chown 65534:65534 "$db"
        (cd / && LD_LIBRARY_PATH=$(libraries) "${as_nobody[@]}" "$(program initdb)" -D "$db" -U tunnel --auth=trust --no-sync --locale=C) \
            > "$WORK/initdb.log" 2>&1 || BROKEN+="initdb: $(tail -n 1 "$WORK/initdb.log"); "
        echo 'host all all all trust' >> "$db/pg_hba.conf"
        behind -receiver postgres.log "${as_nobody[@]}" env LD_LIBRARY_PATH="$(libraries)" "$(program postgres)" -D "$db" \
            -c listen_addresses='*' -c fsync=off -c unix_socket_directories="$db"
    fi
    tunnel 5432
    # Each answer has the server's process, which is of this connection alone, and is as long as four packets.
    session "select N, pg_backend_pid(), md5(repeat('N', 1000)), repeat('x', 5000);" \
        "$(program psql)" -h "$HOST" -p "$PORT" -U tunnel -d postgres --no-psqlrc -q -A -t -F ' ' -v ON_ERROR_STOP=1
    gap=$(longest_gap "$WORK/answers")
    [ "$(awk '{ print $2 }' "$WORK/answers" | tr '\n' ' ')" = "$(seq -s ' ' 40) " ] &&
        [ "$(awk '{ print $3 }' "$WORK/answers" | sort -u | wc -l)" = 1 ] && [ "$gap" -le $LONGEST_GAP ] && [ -z "$BROKEN" ] &&
        [ "$(awk '{ print length($5) }' "$WORK/answers" | sort -u)" = 5000 ]
    verdict "psql, 40 queries of one connection to postgres, the first path is cut: at most $gap ms between two answers" $? \
        "at most $LONGEST_GAP ms; $(wc -l < "$WORK/answers") answers; ${BROKEN:+not tried: $BROKEN}$(tail -n 1 "$WORK/client.log" "$WORK/postgres.log" | tr '\n' ' ')"
    go_home
    rm -rf "${db:?}"
}

# 30 pictures of 33 kB, six at a time at 20 kB/s each, take about five seconds. The page's name is known at the server alone.
drill_browser() {
    local n browser proxy=() chromium asked=0
    two_far_hosts
    chromium=$(command -v chromium) || BROKEN+="there is no chromium; "
    nginx_serves
    {
        echo '<!DOCTYPE html><title>none</title><script>let n = 0; const one = () => document.title = ++n + " pictures";</script>'
        for n in $(seq 30); do echo "<img src=/slow/$n.svg onload=one()>"; done
    } > "$WORK/www/index.html"
    for n in $(seq 30); do
        { echo '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--'; head -c 24000 /dev/urandom | base64; echo '--></svg>'; } > "$WORK/www/slow/$n.svg"
    done
    echo '10.1.0.2 page.test' > "/etc/netns/$ID-receiver/hosts"
    answers -receiver 8080
    if [ -z "${DIRECT:-}" ]; then
        served --allow page.test:8080
        forwarded --socks 127.0.0.1:7001
        answers -sender 7001
        proxy=(--proxy-server=socks5://127.0.0.1:7001)
    else
        proxy=(--host-resolver-rules='MAP page.test 10.1.0.2')
    fi
    timeout --kill-after=1 "$LIMIT" ip netns exec "$ID-sender" "${chromium:-false}" --headless=new --no-sandbox --disable-gpu \
        --disable-dev-shm-usage --no-first-run --disable-background-networking --user-data-dir="$WORK/browser" "${proxy[@]}" \
        --dump-dom http://page.test:8080/ > "$WORK/dom" 2> "$WORK/client.log" < /dev/null &
    browser=$!
    for _ in $(seq $((LIMIT * 20))); do
        asked=$(grep -c slow "$WORK/nginx/asked")
        [ "$asked" -lt 4 ] && kill -0 $browser 2> /dev/null || break
        sleep 0.05
    done
    cut_first_path
    asked=$(grep -c slow "$WORK/nginx/asked")
    [ "$asked" -ge 4 ] && [ "$asked" -lt 22 ] || BROKEN+="the path was cut after $asked of 30 pictures; "
    wait $browser
    grep -q '<title>30 pictures</title>' "$WORK/dom" && [ -z "$BROKEN" ]
    verdict "chromium shows a page with 30 pictures by way of --socks, the first path is cut after $asked" $? \
        "$(grep -o '<title>[^<]*' "$WORK/dom"), $(grep -c slow "$WORK/nginx/asked") were asked for; ${BROKEN:+not tried: $BROKEN}$(tail -n 1 "$WORK/client.log")"
    go_home
}

# --- each end is killed and comes back ------------------------------------------------------------------

# With keys the ticket stays the same; for the control, with a ticket that has a secret, and so is void with the `serve` that made it.
serve_again() {
    local keys=(--key "$WORK/key.z" --authorized "$WORK/friends")
    [ -z "${SECRET:-}" ] || keys=()
    cp "$WORK/ticket" "$WORK/ticket.before" 2> /dev/null
    served --allow 127.0.0.1:8080 "${keys[@]}"
    SERVE=${LEFT[-1]}
    # The other side has the first one.
    [ -z "${SECRET:-}" ] || cp "$WORK/ticket.before" "$WORK/ticket" 2> /dev/null
}

forward_again() {
    local keys=(--key "$WORK/key.a")
    [ -z "${SECRET:-}" ] || keys=()
    forwarded --listen 127.0.0.1:7001 "${keys[@]}"
    FORWARD=${LEFT[-1]}
}

# Milliseconds until curl has the file again, at most $1; it asks anew each 100 ms when its connection is reset or refused.
passes_after() { # MOST
    local began=${EPOCHREALTIME/[.,]/} took=0
    until ip netns exec "$ID-sender" curl -sS --fail --max-time 5 -o "$WORK/came" http://127.0.0.1:7001/file 2> "$WORK/client.log" &&
        cmp -s "$WORK/came" "$WORK/www/file"; do
        took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
        [ $took -le "$1" ] || break
        sleep 0.1
    done
    echo $(((${EPOCHREALTIME/[.,]/} - began) / 1000))
}

killed() { # PROCESS
    kill -KILL "$1" || BROKEN+="it was not there; "
    wait "$1" 2> /dev/null
}

back() { # NAME MOST
    local took
    took=$(passes_after "$2")
    [ "$took" -le "$2" ] && [ -z "$BROKEN" ]
    verdict "$1: curl has its file $took ms later" $? \
        "at most $2 ms; ${BROKEN:+not tried: $BROKEN}$(tail -n 1 "$WORK/client.log" "$WORK/forward.log" "$WORK/serve.log" | tr '\n' ' ')"
}

drill_restart() {
    local SERVE FORWARD
    two_far_hosts
    nginx_serves
    head -c 100000 /dev/urandom > "$WORK/www/file"
    "$BYWAY" key new --key "$WORK/key.z" > /dev/null 2>&1 && "$BYWAY" key new --key "$WORK/key.a" > "$WORK/friends" 2> /dev/null ||
        BROKEN+="byway key new failed; "
    serve_again
    forward_again
    answers -sender 7001
    back "serve and forward with keys" 3000
    cp "$WORK/ticket" "$WORK/ticket.first"
    killed "$SERVE"
    serve_again
    cmp -s "$WORK/ticket" "$WORK/ticket.first" || BROKEN+="the ticket has changed; "
    back "serve is killed and started again at once" 3000
    [ -z "${SECRET:-}" ] || { go_home; return; }
    killed "$FORWARD"
    forward_again
    answers -sender 7001
    back "forward is killed and started again" 3000
    # The other end is away for longer than what forward waits between its attempts at first, while a program asks.
    killed "$SERVE"
    sleep 4
    serve_again
    back "serve comes back after four seconds" 12000
    killed "$SERVE"
    killed "$FORWARD"
    forward_again
    sleep 2
    serve_again
    back "forward is started before serve" 12000
    go_home
}

# --- what README.md tells a newcomer to do on one machine ------------------------------------------------

# The commands themselves, with a smaller file, and a network name of this drill's. ONE_PATH leaves the second address out.
drill_readme() {
    local lines status file=20000000
    lines=$(sed -n '/^### On one machine/,/^## /p' "$ROOT/README.md" | awk '/^```/ { inside = !inside; n++; next } inside { print int(n / 2) " " $0 }')
    BROKEN=''
    mkdir "$WORK/home" && ln -s "$BYWAY" "$WORK/byway"
    sed -n 's/^0 //p' <<< "$lines" | sed "s/200000000/$file/; s/emulate two.toml/& --name $ID/" > "$WORK/first"
    sed -n 's/^1 //p' <<< "$lines" | sed 's/sleep 5;/sleep 1;/' > "$WORK/second"
    [ -z "${ONE_PATH:-}" ] || sed -i 's/,10.2.0.2//' "$WORK/first"
    [ "$(wc -l < "$WORK/first")" = 19 ] && [ "$(wc -l < "$WORK/second")" = 5 ] || BROKEN='README.md has other commands; '
    {
        # Until somebody has typed the first line, the ticket is there, and the server listens.
        for _ in $(seq 100); do
            [ ! -s "$WORK/home/ticket" ] || [ -z "$(ip netns exec "$ID-receiver" ss -Hltn 'sport = :8000')" ] || break
            sleep 0.1
        done 2> /dev/null
        cat "$WORK/second"
    } | (cd "$WORK/home" && PATH=$WORK:$PATH SHELL=/bin/bash timeout --kill-after=2 "$LIMIT" bash -c 'sudo() { "$@"; }; . ../first') > "$WORK/readme.log" 2>&1
    status=$?
    [ $status = 0 ] && cmp -s "$WORK/home/big" "$WORK/home/got" && [ "$(stat -c %s "$WORK/home/got")" = $file ] && [ -z "$BROKEN" ]
    verdict "README.md, on one machine: a file crosses by curl while the cable is pulled" $? \
        "status $status, $(stat -c %s "$WORK/home/got" 2> /dev/null) bytes; ${BROKEN:+not tried: $BROKEN}$(tail -n 1 "$WORK/readme.log")"
}
