# One bulk transfer over two paths in ns-2, with the settings of caro-2006.
#
#   ns transfer.tcl BYTES LOSS HORIZON [TRACE [LOG]]
#
# LOSS is the packet loss of the first path, 0 to 1, in both directions; the simulation ends at
# HORIZON seconds. Without TRACE and LOG nothing is written, so the process's CPU time is the
# simulator's own. With TRACE, that file gets the packets of the client's access links: the transfer
# took from the first "+" line of a D(ATA) chunk to the last "r" line of a S(ACK). With LOG, that file
# gets what a study of failovers watches: each packet that the losses take, as a "d" line, and each
# simulated second the sender's counters, as
#   C TIME FAST-RETRANSMITS MULTIPLE-FAST-RETRANSMITS TIMEOUTS
# An empty TRACE stands for none.

if {[llength $argv] < 3} {
    puts stderr "usage: ns transfer.tcl BYTES LOSS HORIZON \[TRACE \[LOG\]\]"
    exit 2
}
lassign $argv bytes loss horizon trace log

set chance [new RNG]
$chance seed 7
set sim [new Simulator]
if {$trace ne "" || $log ne ""} { Trace set show_sctphdr_ 1 }
if {$trace ne ""} { set traced [open $trace w] }
if {$log ne ""} { set logged [open $log w] }

# A multihomed endpoint is a core node with one interface node a path.
proc endpoint {sim name} {
    upvar 1 $name core
    set core [$sim node]
    set interfaces {}
    foreach path {0 1} {
        set interface [$sim node]
        $sim multihome-add-interface $core $interface
        lappend interfaces $interface
    }
    return $interfaces
}
set client_interfaces [endpoint $sim client]
set server_interfaces [endpoint $sim server]

proc lose {sim rate from to} {
    global chance log logged
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $rate
    set uniform [new RandomVariable/Uniform]
    $uniform set min_ 0.0
    $uniform set max_ 1.0
    $uniform use-rng $chance
    $model ranvar $uniform
    $model drop-target [new Agent/Null]
    $sim lossmodel $model $from $to
    # Afterwards: lossmodel sets the link's own target.
    if {$log ne ""} { $model drop-target [$sim create-trace Drop $logged $from $to] }
}

# 45 ms one way: 10 ms of access, 25 ms of a 10 Mb/s core, 10 ms of access.
foreach near $client_interfaces far $server_interfaces path {0 1} {
    set left [$sim node]
    set right [$sim node]
    $sim duplex-link $near $left 100Mb 10ms DropTail
    $sim duplex-link $left $right 10Mb 25ms DropTail
    $sim duplex-link $right $far 100Mb 10ms DropTail
    foreach {from to} [list $near $left $left $right $right $far] {
        $sim queue-limit $from $to 50
        $sim queue-limit $to $from 50
    }
    if {$trace ne ""} {
        $sim trace-queue $near $left $traced
        $sim trace-queue $left $near $traced
    }
    if {$path == 0 && $loss > 0} {
        lose $sim $loss $left $right
        lose $sim $loss $right $left
    }
}

set sender [new Agent/SCTP/MultipleFastRtx]
set receiver [new Agent/SCTP]
$sim multihome-attach-agent $client $sender
$sim multihome-attach-agent $server $receiver
foreach {name value} {
    mtu_ 1500                   dataChunkSize_ 1468
    numOutStreams_ 1            initialCwnd_ 2
    initialSsthresh_ 65536      initialRto_ 3.0
    minRto_ 1.0                 maxRto_ 60.0
    pathMaxRetrans_ 5           associationMaxRetrans_ 10
    changePrimaryThresh_ 1000000
    rtxToAlt_ 2                 dormantAction_ 0
    heartbeatInterval_ 30       useMaxBurst_ 1
} {
    $sender set $name $value
}
foreach {name value} {
    mtu_ 1500                   dataChunkSize_ 1468
    initialRwnd_ 65536          heartbeatInterval_ 30
    useDelayedSacks_ 1          sackDelay_ 0.2
} {
    $receiver set $name $value
}
$sim connect $sender $receiver
$sender set-primary-destination [lindex $server_interfaces 0]

set source [new Application/FTP]
$source attach-agent $sender

# The counters now, and again each second; written out at once, for a reader that follows the run.
proc count {} {
    global sim sender logged
    set counters {}
    foreach counter {frCount_ mfrCount_ timeoutCount_} { lappend counters [$sender set $counter] }
    puts $logged "C [$sim now] $counters"
    flush $logged
    $sim at [expr {[$sim now] + 1}] count
}

proc finish {} {
    global trace traced log logged
    if {$trace ne ""} { close $traced }
    if {$log ne ""} { close $logged }
    exit 0
}
if {$log ne ""} { count }
$sim at 0.0 "$source send $bytes"
$sim at $horizon "finish"
$sim run
