// A peer of pion/sctp over UDP for `interop/table`. The other end is
// interop/exchange/src/main.rs; interop/common/exchange.h says what both do.
//
//	pion -local IP:PORT [-run N] [-again N] accept
//	pion -local IP:PORT -remote IP:PORT [-end graceful|abort] [-run N] [-again N] connect
//	pion -local IP:PORT [-bytes N] sink
//	pion -local IP:PORT -remote IP:PORT [-bytes N] [-message N] bulk
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
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

var (
	localName  = flag.String("local", "", "this side's address and UDP port")
	remoteName = flag.String("remote", "", "the address and UDP port to connect to")
	end        = flag.String("end", "graceful", "how the side that connects ends: graceful or abort")
	firstRun   = flag.Uint("run", 1, "number of the first run")
	again      = flag.Uint("again", 0, "how often another association may follow")
)

func address(name string) *net.UDPAddr {
	a, err := net.ResolveUDPAddr("udp", name)
	if err != nil {
		fail("an address", err)
	}
	return a
}

// Buffers that bursts of a bulk transfer fit in; the system grants at most net.core.rmem_max.
func enlarge(socket *net.UDPConn, isBulk bool) {
	if isBulk {
		_ = socket.SetReadBuffer(bulkBuffer)
		_ = socket.SetWriteBuffer(bulkBuffer)
	}
}

func open(connect bool) *sctp.Association {
	log := logging.NewDefaultLoggerFactory()
	log.DefaultLogLevel = logging.LogLevelWarn
	log.Writer = os.Stderr
	config := sctp.Config{LoggerFactory: log, MaxMessageSize: 1 << 20, MaxReceiveBufferSize: 1 << 20}
	isBulk := flag.Arg(0) == "sink" || flag.Arg(0) == "bulk"
	if isBulk {
		forBulk(&config)
	}
	if connect {
		socket, err := net.DialUDP("udp", address(*localName), address(*remoteName))
		if err != nil {
			fail("the socket", err)
		}
		enlarge(socket, isBulk)
		config.NetConn = socket
		a, err := sctp.Client(config)
		if err != nil {
			// An ABORT for the association before this one ends this one, too.
			fmt.Fprintln(os.Stderr, "pion: the set-up:", err)
			time.Sleep(300 * time.Millisecond)
			return open(connect)
		}
		return a
	}
	socket, err := net.ListenUDP("udp", address(*localName))
	if err != nil {
		fail("the socket", err)
	}
	enlarge(socket, isBulk)
	config.NetConn = &onePeer{UDPConn: socket}
	a, err := sctp.Server(config)
	if err != nil {
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

// Sends a stream's messages; what it sent goes to `out`, or why it could not.
func send(stream *sctp.Stream, l lane, run uint32, gone *atomic.Bool, out chan<- string) {
	stream.SetReliabilityParams(l.unordered, sctp.ReliabilityTypeReliable, 0)
	random := rand.New(rand.NewSource(int64(run)<<16 | int64(l.stream)))
	var s sum
	for i := 0; i < l.messages; i++ {
		message := make([]byte, l.size(i))
		random.Read(message)
		s.add(message)
		// The library queues without end.
		for stream.BufferedAmount() > 1<<20 && !gone.Load() {
			time.Sleep(time.Millisecond)
		}
		if _, err := stream.WriteSCTP(message, sctp.PayloadProtocolIdentifier(run)); err != nil {
			out <- fmt.Sprint("lost: sending: ", err)
			return
		}
	}
	out <- s.line("sent", l)
}

// The next message of a run; what an earlier one left behind is passed over.
func next(stream *sctp.Stream, run uint32, buffer []byte) ([]byte, error) {
	for {
		n, identifier, err := stream.ReadSCTP(buffer)
		if err != nil || uint32(identifier) == run {
			return buffer[:n], err
		}
	}
}

func receive(stream *sctp.Stream, l lane, run uint32, gone *atomic.Bool, out chan<- string) {
	buffer := make([]byte, 1<<20)
	var s sum
	for i := 0; i < l.messages; i++ {
		message, err := next(stream, run, buffer)
		if err != nil {
			gone.Store(true)
			out <- fmt.Sprintf("lost: receiving message %d of stream %d: %v", i, l.stream, err)
			return
		}
		s.add(message)
	}
	out <- s.line("received", l)
}

// How an association ended, by what a reader was told.
func ending(err error) string {
	switch {
	case errors.Is(err, sctp.ErrChunk):
		return "end aborted: " + err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		// The library closes the socket after SHUTDOWN COMPLETE.
		return "end graceful"
	default:
		return fmt.Sprint("end ", err)
	}
}

// One exchange over one association: what to print, and whether it was complete.
func exchange(a *sctp.Association, connect bool, run uint32) (lines []string, complete bool) {
	s := &streams{a: a, all: map[uint16]*sctp.Stream{}}
	all := lanes()
	out := make(chan string)
	// A reader is told that the association is gone; a writer is not.
	var gone atomic.Bool
	for _, l := range all {
		l, stream := l, s.get(l.stream)
		go send(stream, l, run, &gone, out)
		go receive(stream, l, run, &gone, out)
	}
	last := s.get(control)
	complete = true
	for range 2 * len(all) {
		line := <-out
		complete = complete && !strings.HasPrefix(line, "lost")
		lines = append(lines, line)
	}
	if !complete {
		return lines, false
	}
	// The side that connects has the first of the last messages, so that nothing of it is under way
	// when it gets the answer and ends the association.
	buffer := make([]byte, 64)
	done := func() {
		if _, err := last.WriteSCTP([]byte("done"), sctp.PayloadProtocolIdentifier(run)); err != nil {
			fail("sending the last message", err)
		}
	}
	if connect {
		done()
	}
	if _, err := next(last, run, buffer); err != nil {
		fail("receiving the last message", err)
	}
	if !connect {
		done()
		_, err := next(last, run, buffer)
		return append(lines, ending(err)), true
	}
	if *end == "abort" {
		a.Abort("as asked")
		return lines, true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		fail("the shutdown", err)
	}
	return lines, true
}

func main() {
	flag.Parse()
	verb := flag.Arg(0)
	if verb != "connect" && verb != "accept" && verb != "sink" && verb != "bulk" {
		fmt.Fprintln(os.Stderr, "usage: pion -local IP:PORT [-remote IP:PORT -end graceful|abort] [-run N] [-again N] connect|accept\n"+
			"       pion -local IP:PORT [-remote IP:PORT] [-bytes N] [-message N] sink|bulk")
		os.Exit(2)
	}
	time.AfterFunc(60*time.Second, func() { fail("the time limit", errors.New("60 s have passed")) })
	switch verb {
	case "sink":
		sink()
		return
	case "bulk":
		bulk()
		return
	}
	for run := *firstRun; ; run++ {
		a := open(verb == "connect")
		lines, complete := exchange(a, verb == "connect", uint32(run))
		if complete {
			for _, line := range lines {
				fmt.Println(line)
			}
			return
		}
		a.Close()
		fmt.Println("lost")
		for _, line := range lines {
			if strings.HasPrefix(line, "lost") {
				fmt.Fprintln(os.Stderr, "pion: run", run, line)
			}
		}
		if run == *firstRun+*again {
			os.Exit(1)
		}
	}
}
