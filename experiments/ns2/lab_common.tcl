# Shared procedures of the ns-2 drivers.  Parameters arrive on the
# command line as key=value words and land in the global array P.

array set P {
    class SCTP
    rta 2
    size 4000000
    paths 2
    core_bw 10Mb
    edge_bw 100Mb
    edge_delay 10ms
    d0 25ms
    d1 25ms
    d2 25ms
    loss0 0
    loss1 0
    loss2 0
    qlimit 50
    edge_qlimit 50
    pmr 5
    amr 10
    cpt 1000000
    dormant 0
    rbuf 65536
    sndbuf 0
    chunk 1468
    mtu 1500
    icwnd 2
    issthresh 65536
    irto 3.0
    minrto 1.0
    maxrto 60.0
    hb 30
    delsack 1
    sackdelay 0.2
    maxburst 1
    trigger 0
    cmtpf 1
    pfcwnd 1
    cmtrtx 2
    reorder 1
    cmtcwnd 1
    cmtdelack 1
    start 0.0
    fail_path 0
    fail_at -1
    repair_at -1
    lossplace queue
    lossdirs both
    seed 1
    horizon 100000
    vars 1
    pkttrace 1
    outfile -
}

proc parse_args {argv} {
    global P
    foreach word $argv {
        set i [string first = $word]
        if {$i < 1} { puts stderr "bad parameter: $word"; exit 2 }
        set k [string range $word 0 [expr {$i-1}]]
        if {![info exists P($k)]} { puts stderr "unknown parameter: $k"; exit 2 }
        set P($k) [string range $word [expr {$i+1}] end]
    }
}

# A tap that writes one line per packet at the far end of a link.
proc tap_recv {ns ch from to} {
    set l [$ns link $from $to]
    set t [$ns create-trace Recv $ch $from $to]
    set ttl [$l set ttl_]
    $t target [$ttl target]
    $ttl target $t
}

# A tap that writes one line per packet at the moment the node sends it.
proc tap_send {ns ch from to} {
    set l [$ns link $from $to]
    set t [$ns create-trace Enque $ch $from $to]
    $l add-to-head $t
}

proc uniform_loss {ns ch from to rate rng place} {
    set em [new ErrorModel]
    $em unit pkt
    $em set rate_ $rate
    set rv [new RandomVariable/Uniform]
    $rv set min_ 0.0
    $rv set max_ 1.0
    $rv use-rng $rng
    $em ranvar $rv
    if {$place eq "queue"} {
        $ns lossmodel $em $from $to
    } else {
        $ns link-lossmodel $em $from $to
    }
    $em drop-target [$ns create-trace Drop $ch $from $to]
    return $em
}

proc configure_sender {s} {
    global P
    $s set mtu_ $P(mtu)
    $s set dataChunkSize_ $P(chunk)
    $s set numOutStreams_ 1
    $s set pathMaxRetrans_ $P(pmr)
    $s set associationMaxRetrans_ $P(amr)
    $s set changePrimaryThresh_ $P(cpt)
    $s set dormantAction_ $P(dormant)
    $s set rtxToAlt_ $P(rta)
    $s set initialCwnd_ $P(icwnd)
    $s set initialSsthresh_ $P(issthresh)
    $s set initialRto_ $P(irto)
    $s set minRto_ $P(minrto)
    $s set maxRto_ $P(maxrto)
    $s set heartbeatInterval_ $P(hb)
    $s set useMaxBurst_ $P(maxburst)
    $s set initialSwnd_ $P(sndbuf)
    # Missing reports that make a fast retransmission; 0 leaves the module's own number.
    if {$P(trigger) > 0} { $s set fastRtxTrigger_ $P(trigger) }
}

proc configure_receiver {d} {
    global P
    $d set mtu_ $P(mtu)
    $d set initialRwnd_ $P(rbuf)
    $d set useDelayedSacks_ $P(delsack)
    $d set sackDelay_ $P(sackdelay)
    $d set dataChunkSize_ $P(chunk)
    $d set heartbeatInterval_ $P(hb)
}

proc configure_cmt {s d} {
    global P
    $s set useCmtReordering_ $P(reorder)
    $s set useCmtCwnd_ $P(cmtcwnd)
    $s set useCmtDelAck_ $P(cmtdelack)
    $s set eCmtRtxPolicy_ $P(cmtrtx)
    $s set useCmtPF_ $P(cmtpf)
    $s set cmtPFCwnd_ $P(pfcwnd)
    $d set useCmtDelAck_ $P(cmtdelack)
}

# Once per simulated second: sender counters, and a flush so that a reader
# on the other side of a pipe sees the end of a transfer promptly.
proc poll_sender {ns ch s mfr} {
    set extra 0
    if {$mfr} { set extra [$s set mfrCount_] }
    puts $ch "P [$ns now] [$s set frCount_] $extra [$s set timeoutCount_]"
    flush $ch
    $ns at [expr {[$ns now] + 1.0}] [list poll_sender $ns $ch $s $mfr]
}
