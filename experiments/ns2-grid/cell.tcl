# One random run of a cell of the grids in ns-2 (2.35):
#
#   ns cell.tcl COLUMN=VALUE... seed=N horizon=SECONDS
#
# The columns are those of SUMMARY.csv.gz up to `qlimit`; others are passed over. On its output
# is the trace of the sender's access links: a transfer lasts from the first "+" line with a
# D(ATA) chunk to the first "r" line of a S(ACK) that covers the last TSN.
#
# Each core link loses packets in both directions, in front of its queue; all four draw from one
# generator, whose stream number is the seed, as in the runs behind the table.

foreach word $argv {
    lassign [split $word =] name value
    set cell($name) $value
}
Trace set show_sctphdr_ 1
ns-random $cell(seed)
set sim [new Simulator]
set output stdout

proc host {sim core interfaces} {
    upvar $core c $interfaces list
    set c [$sim node]
    set list {}
    foreach path {0 1} {
        lappend list [$sim node]
        $sim multihome-add-interface $c [lindex $list end]
    }
}
host $sim sender near
host $sim receiver far

set chance [new RNG]
for {set n 1} {$n < $cell(seed)} {incr n} { $chance next-substream }
proc lose {sim from to rate} {
    global chance
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $rate
    set share [new RandomVariable/Uniform]
    $share set min_ 0.0
    $share set max_ 1.0
    $share use-rng $chance
    $model ranvar $share
    $model drop-target [new Agent/Null]
    $sim lossmodel $model $from $to
}

foreach path {0 1} {
    set a [lindex $near $path]
    set b [lindex $far $path]
    set left($path) [$sim node]
    set right($path) [$sim node]
    $sim duplex-link $a $left($path) 100Mb 10ms DropTail
    $sim duplex-link $left($path) $right($path) 10Mb $cell(d$path) DropTail
    $sim duplex-link $right($path) $b 100Mb 10ms DropTail
    foreach {x y most} [list $a $left($path) 50 $right($path) $b 50 \
                            $left($path) $right($path) $cell(qlimit)] {
        $sim queue-limit $x $y $most
        $sim queue-limit $y $x $most
    }
    if {$cell(loss$path) > 0} {
        lose $sim $left($path) $right($path) $cell(loss$path)
        lose $sim $right($path) $left($path) $cell(loss$path)
    }
    # What leaves the sender, and what reaches it.
    [$sim link $a $left($path)] add-to-head [$sim create-trace Enque $output $a $left($path)]
    set ttl [[$sim link $left($path) $a] set ttl_]
    set tap [$sim create-trace Recv $output $left($path) $a]
    $tap target [$ttl target]
    $ttl target $tap
}

proc configure {agent values} {
    foreach {name value} $values { $agent set ${name}_ $value }
}
set client [new Agent/$cell(class)]
set kind SCTP
if {[string match */Timestamp $cell(class)] || [string match */MfrTimestamp $cell(class)]} {
    set kind SCTP/Timestamp
}
if {$cell(class) eq "SCTP/CMT"} { set kind SCTP/CMT }
set server [new Agent/$kind]
$sim multihome-attach-agent $sender $client
$sim multihome-attach-agent $receiver $server
configure $client [list mtu 1500 dataChunkSize $cell(chunk) numOutStreams 1 \
    pathMaxRetrans $cell(pmr) associationMaxRetrans 10 changePrimaryThresh $cell(cpt) \
    dormantAction $cell(dormant) rtxToAlt $cell(rta) initialCwnd 2 \
    initialSsthresh $cell(issthresh) initialRto 3.0 minRto 1.0 maxRto 60.0 \
    heartbeatInterval 30 useMaxBurst 1 initialSwnd 0]
configure $server [list mtu 1500 initialRwnd $cell(rbuf) useDelayedSacks $cell(delsack) \
    sackDelay 0.2 dataChunkSize $cell(chunk) heartbeatInterval 30]
if {$kind eq "SCTP/CMT"} {
    configure $client [list useCmtReordering 1 useCmtCwnd 1 useCmtDelAck 1 \
        eCmtRtxPolicy $cell(cmtrtx) useCmtPF $cell(cmtpf) cmtPFCwnd $cell(pfcwnd)]
    configure $server [list useCmtDelAck 1]
}
$sim connect $client $server
$client set-primary-destination [lindex $far 0]
set transfer [new Application/FTP]
$transfer attach-agent $client

foreach {when state} [list $cell(fail_at) down $cell(repair_at) up] {
    if {$when >= 0} {
        $sim rtmodel-at $when $state $left($cell(fail_path)) $right($cell(fail_path))
    }
}
$sim at 0.0 "$transfer send $cell(size)"
$sim at $cell(horizon) {flush $output; exit 0}
$sim run
