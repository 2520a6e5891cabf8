// A peer of pion/sctp over UDP for the cases of `interop/run pion`. The other end is
// crates/byway/examples/exchange.rs, which does the same.
//
//	pion connect LOCAL REMOTE graceful|abort
//	pion accept LOCAL
//
// Both sides send the same kinds of messages at once: bulk, many streams, unordered ones, large
// ones. Each prints what it sent and received on each stream, with a SHA-256. The side that
// connected ends the association; the other one prints how it ended.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

// A stream and what it carries.
type lane struct {
	stream    uint16
	messages  int
	unordered bool
	size      func(i int) int
}

const control = 43

func lanes() []lane {
	all := []lane{{0, 200, false, func(int) int { return 16384 }}}
	for s := 1; s <= 40; s++ {
		s := s
		all = append(all, lane{uint16(s), 10, false, func(i int) int { return 1 + (s*37+i*1013)%3000 }})
	}
	all = append(all, lane{41, 200, true, func(int) int { return 500 }})
	return append(all, lane{42, 4, false, func(i int) int { return 250_000 + i }})
}

// The sum of a stream's messages: their lengths and bytes in order, or of unordered ones the
// sorted sums.
type sum struct {
	each  [][]byte
	bytes int
}

func (s *sum) add(message []byte) {
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(message)))
	one := sha256.Sum256(append(length[:], message...))
	s.each = append(s.each, one[:])
	s.bytes += len(message)
}

func (s *sum) line(word string, l lane) string {
	if l.unordered {
		sort.Slice(s.each, func(i, j int) bool { return bytes.Compare(s.each[i], s.each[j]) < 0 })
	}
	return fmt.Sprintf("%s %d %d %d %x", word, l.stream, len(s.each), s.bytes, sha256.Sum256(bytes.Join(s.each, nil)))
}

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "pion: %s: %v\n", what, err)
	os.Exit(1)
}

// The packets of one peer, the first that sends; pion wants a connection.
type onePeer struct {
	*net.UDPConn
	mu   sync.Mutex
	peer *net.UDPAddr
}

func (c *onePeer) Read(b []byte) (int, error) {
	for {
		n, from, err := c.ReadFromUDP(b)
		if err != nil {
			return n, err
		}
		c.mu.Lock()
		if c.peer == nil {
			c.peer = from
		}
		ours := c.peer.IP.Equal(from.IP) && c.peer.Port == from.Port
		c.mu.Unlock()
		if ours {
			return n, nil
		}
	}
}

func (c *onePeer) Write(b []byte) (int, error) {
	c.mu.Lock()
	peer := c.peer
	c.mu.Unlock()
	return c.WriteToUDP(b, peer)
}

func (c *onePeer) RemoteAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer == nil {
		return &net.UDPAddr{}
	}
	return c.peer
}

func open(connect bool) *sctp.Association {
	local, err := net.ResolveUDPAddr("udp", os.Args[2])
	if err != nil {
		fail("the local address", err)
	}
	log := logging.NewDefaultLoggerFactory()
	log.DefaultLogLevel = logging.LogLevelWarn
	log.Writer = os.Stderr
	config := sctp.Config{LoggerFactory: log, MaxMessageSize: 1 << 20, MaxReceiveBufferSize: 1 << 20}
	var a *sctp.Association
	if connect {
		remote, err := net.ResolveUDPAddr("udp", os.Args[3])
		if err != nil {
			fail("the remote address", err)
		}
		if config.NetConn, err = net.DialUDP("udp", local, remote); err != nil {
			fail("the socket", err)
		}
		a, err = sctp.Client(config)
		if err != nil {
			fail("the set-up", err)
		}
		return a
	}
	socket, err := net.ListenUDP("udp", local)
	if err != nil {
		fail("the socket", err)
	}
	config.NetConn = &onePeer{UDPConn: socket}
	if a, err = sctp.Server(config); err != nil {
		fail("the set-up", err)
	}
	return a
}

// Streams by number: those that were opened here, and those that the peer opened.
type streams struct {
	mu  sync.Mutex
	a   *sctp.Association
	all map[uint16]*sctp.Stream
}

func (s *streams) get(number uint16) *sctp.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream, ok := s.all[number]; ok {
		return stream
	}
	stream, err := s.a.OpenStream(number, sctp.PayloadTypeWebRTCBinary)
	if err != nil {
		fail("a stream", err)
	}
	s.all[number] = stream
	return stream
}

func send(stream *sctp.Stream, l lane, out chan<- string) {
	stream.SetReliabilityParams(l.unordered, sctp.ReliabilityTypeReliable, 0)
	random := rand.New(rand.NewSource(int64(l.stream)))
	var s sum
	for i := 0; i < l.messages; i++ {
		message := make([]byte, l.size(i))
		random.Read(message)
		s.add(message)
		// The library queues without end.
		for stream.BufferedAmount() > 1<<20 {
			time.Sleep(time.Millisecond)
		}
		if _, err := stream.WriteSCTP(message, sctp.PayloadTypeWebRTCBinary); err != nil {
			fail("sending", err)
		}
	}
	out <- s.line("sent", l)
}

func receive(stream *sctp.Stream, l lane, out chan<- string) {
	buffer := make([]byte, 1<<20)
	var s sum
	for i := 0; i < l.messages; i++ {
		n, _, err := stream.ReadSCTP(buffer)
		if err != nil {
			fail(fmt.Sprintf("receiving message %d of stream %d", i, l.stream), err)
		}
		s.add(buffer[:n])
	}
	out <- s.line("received", l)
}

func main() {
	connect := len(os.Args) == 5 && os.Args[1] == "connect"
	if !connect && (len(os.Args) != 3 || os.Args[1] != "accept") {
		fmt.Fprintln(os.Stderr, "usage: pion connect LOCAL REMOTE graceful|abort | pion accept LOCAL")
		os.Exit(2)
	}
	time.AfterFunc(60*time.Second, func() { fail("the time limit", errors.New("60 s have passed")) })
	a := open(connect)
	s := &streams{a: a, all: map[uint16]*sctp.Stream{}}
	all := lanes()
	out := make(chan string)
	for _, l := range all {
		l, stream := l, s.get(l.stream)
		go send(stream, l, out)
		go receive(stream, l, out)
	}
	last := s.get(control)
	for range all {
		fmt.Println(<-out)
		fmt.Println(<-out)
	}
	// The side that connects has the first of the last messages, so that nothing of it is under way
	// when it gets the answer and ends the association.
	buffer := make([]byte, 64)
	done := func() {
		if _, err := last.WriteSCTP([]byte("done"), sctp.PayloadTypeWebRTCBinary); err != nil {
			fail("sending the last message", err)
		}
	}
	if connect {
		done()
	}
	if _, _, err := last.ReadSCTP(buffer); err != nil {
		fail("receiving the last message", err)
	}
	if !connect {
		done()
		_, _, err := last.ReadSCTP(buffer)
		switch {
		case errors.Is(err, sctp.ErrChunk):
			fmt.Println("end aborted:", err)
		case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
			// The library closes the socket after SHUTDOWN COMPLETE.
			fmt.Println("end graceful")
		default:
			fmt.Println("end", err)
		}
		return
	}
	if os.Args[4] == "abort" {
		a.Abort("as asked")
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		fail("the shutdown", err)
	}
}
