package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/pion/sctp"
)

// One transfer in messages of one size, as fast as they are taken, for `cargo xtask measure`.

var (
	bulkBytes   = flag.Int64("bytes", 256<<20, "bytes of a bulk transfer")
	messageSize = flag.Int("message", 16384, "bytes of each of its messages")
)

// What its two sides set: blocking writes, packets and buffers as the other programs have them.
const bulkBuffer = 4 << 20

func forBulk(config *sctp.Config) {
	config.BlockWrite = true
	config.MTU = 1472 // in UDP over IPv4: an IP packet of 1500 bytes
	config.MaxReceiveBufferSize = bulkBuffer
}

// Takes it, and prints a line of JSON.
func sink() {
	a := open(false)
	stream, err := a.AcceptStream()
	if err != nil {
		fail("the stream", err)
	}
	buffer := make([]byte, 1<<20)
	var bytes int64
	var begin time.Time
	for bytes < *bulkBytes {
		n, err := stream.Read(buffer)
		if err != nil {
			fail("receiving", err)
		}
		if bytes == 0 {
			begin = time.Now()
		}
		bytes += int64(n)
	}
	seconds := time.Since(begin).Seconds()
	fmt.Printf("{\"bytes\":%d,\"seconds\":%.4f,\"mb_per_s\":%.2f}\n", bytes, seconds, float64(bytes)/1e6/seconds)
	// Until the sender has shut down.
	for err == nil {
		_, err = stream.Read(buffer)
	}
}

// Sends it.
func bulk() {
	a := open(true)
	stream, err := a.OpenStream(0, sctp.PayloadTypeWebRTCBinary)
	if err != nil {
		fail("a stream", err)
	}
	message := make([]byte, *messageSize)
	for sent := int64(0); sent < *bulkBytes; sent += int64(len(message)) {
		if _, err := stream.Write(message); err != nil {
			fail("sending", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		fail("the shutdown", err)
	}
}
