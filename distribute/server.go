//go:build !noserver

package distribute

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ownServer is a NATS server in this process. Built with the tag noserver, tandem has none: it
// takes up a quarter of the executable.
type ownServer struct {
	server *server.Server
	url    string // for workers; a password that nobody else knows is in it
}

// startServer starts a server at an address, or at a free port of this machine. It keeps what it
// stores in a directory, up to a limit.
func startServer(address, dir string, limit int64, l Login) (*ownServer, error) {
	// Other machines can connect only where an address says so.
	host, port, err := net.SplitHostPort(cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("%s is no address: give it as HOST:PORT", address)
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 0 {
		return nil, fmt.Errorf("%s is no port: give a number", port)
	}
	// The server takes 0 for its usual port, and has another number for a free one.
	if number == 0 {
		number = server.RANDOM_PORT
	}
	// Signals and the log are those of tandem.
	o := &server.Options{
		Host: host, Port: number, Username: "tandem", Password: rand.Text(), NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(dir, "jetstream"), MaxPayload: 2 * maxMessage,
		JetStreamMaxStore: limit, JetStreamMaxMemory: -1,
	}
	// With an authority workers have to show a certificate, too.
	scheme := "nats"
	if l.Certificate != "" {
		scheme = "tls"
		if o.TLSConfig, err = server.GenTLSConfig(&server.TLSConfigOpts{
			CertFile: l.Certificate, KeyFile: l.Key, CaFile: l.CA, Verify: l.CA != "",
		}); err != nil {
			return nil, err
		}
	}
	s := &ownServer{}
	if s.server, err = server.NewServer(o); err != nil {
		return nil, err
	}
	s.server.Start()
	if !s.server.ReadyForConnections(patience) {
		s.stop()
		return nil, errors.New("it did not begin to listen: another one may use the port")
	}
	// The port may have been chosen by the system.
	_, port, _ = net.SplitHostPort(s.server.Addr().String())
	s.url = scheme + "://tandem:" + o.Password + "@" + net.JoinHostPort(host, port)
	return s, nil
}

// leaveLook is how often it is looked whether all have left.
const leaveLook = 5 * time.Millisecond

// connects has a client connect to the server within the process.
func (s *ownServer) connects() nats.Option { return nats.InProcessServer(s.server) }

// stop ends the server, and removes what it has stored. Workers that were told go by themselves.
func (s *ownServer) stop() {
	// What a client was sent right before the end may not reach it, so they have a moment to leave.
	look := time.NewTicker(leaveLook)
	defer look.Stop()
	for end := time.Now().Add(stopGrace); s.server.NumClients() > 0 && time.Now().Before(end); {
		<-look.C
	}
	// Files are removed when nobody writes to them any more.
	s.server.Shutdown()
	s.server.WaitForShutdown()
	os.RemoveAll(s.server.StoreDir())
}
