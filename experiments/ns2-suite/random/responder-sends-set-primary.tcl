# ns-2.35's side of responder-sends-set-primary.json: `ns responder-sends-set-primary.tcl` writes t.tr.
Trace set show_sctphdr_ 1
set ns [new Simulator]
set all [open t.tr w]
set host0_core [$ns node]
set host0_if0 [$ns node]
set host0_if1 [$ns node]
$ns multihome-add-interface $host0_core $host0_if0
$ns multihome-add-interface $host0_core $host0_if1
set host1 [$ns node]
set router [$ns node]
$ns duplex-link $host0_if0 $router .5Mb 200ms DropTail
$ns duplex-link $host0_if1 $router .5Mb 200ms DropTail
$ns duplex-link $host1 $router .5Mb 200ms DropTail
foreach {a b} [list $host0_if0 $router $host0_if1 $router $host1 $router] {
 $ns trace-queue $a $b $all
 $ns trace-queue $b $a $all
}
set sctp0 [new Agent/SCTP]
$ns multihome-attach-agent $host0_core $sctp0
$sctp0 set fid_ 0
$sctp0 set mtu_ 1500
$sctp0 set initialRwnd_ 131072
$sctp0 set useDelayedSacks_ 1
set sctp1 [new Agent/SCTP]
$ns attach-agent $host1 $sctp1
$sctp1 set fid_ 1
$sctp1 set mtu_ 1500
$sctp1 set dataChunkSize_ 1468
$sctp1 set numOutStreams_ 1
$ns connect $sctp0 $sctp1
set ftp [new Application/FTP]
$ftp attach-agent $sctp1
$ns at 0.5 "$ftp start"
$ns at 6.0 "$sctp1 set-primary-destination $host0_if0"
$ns at 12.0 "exit 0"
$ns run
