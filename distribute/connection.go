package distribute

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"
)

// The names of what is on the server.
const (
	partsStream   = "TANDEM_PARTS"
	resultsStream = "TANDEM_RESULTS"
	sharesStream  = "TANDEM_SHARES"
	stateBucket   = "tandem"
	objectBucket  = "tandem-objects"
	savedBucket   = "tandem-saved"
	runKey        = "run"
	workerKey     = "worker."
)

// Subjects of messages that are for those who are there, and are not kept.
const (
	aliveSubject = "tandem.alive"  // of a worker: how it is
	newsSubject  = "tandem.news"   // a run has begun or ended
	byeSubject   = "tandem.bye"    // the server ends with its run
	begunSubject = "tandem.begun." // a worker has begun with a part
	stopSubject  = "tandem.stop."  // a part is not wanted any more
	// A worker is to have a member, or not to have it any more, and a member has ended.
	becomeSubject = "tandem.become."
	dropSubject   = "tandem.drop."
	leftSubject   = "tandem.left."
)

// sharesSubject is the beginning of all subjects of messages between members.
const sharesSubject = "tandem.shares."

// connection is a connection to a server, with what Tandem keeps there.
type connection struct {
	Options
	own     *ownServer // in this process; nil: it is elsewhere
	url     string     // for workers
	nats    *nats.Conn
	js      jetstream.JetStream
	state   jetstream.KeyValue
	objects jetstream.ObjectStore
	saved   jetstream.ObjectStore // of members
	// since is when the connection was made, or made again, in Unix nanoseconds.
	since  atomic.Int64
	away   atomic.Int64  // since when it is broken, in Unix nanoseconds; 0: it is not
	again  chan struct{} // has something when the connection was made again
	closed chan struct{} // closed when it will not be made again
}

// connect connects to a server, or starts one.
func connect(o Options) (*connection, error) {
	c := &connection{Options: o, url: o.URL, again: make(chan struct{}, 1), closed: make(chan struct{})}
	// Embedded comes with an address or without.
	if o.Server != nil {
		c.own, c.url = o.Server.own, o.Server.url
	} else if isEmbedded(o.URL) {
		_, where, _ := strings.Cut(o.URL, "=")
		limit := o.Limit
		if limit == 0 {
			limit = 2*maxQueue + maxObjects + maxState + unbound
		}
		var err error
		if c.own, err = startServer(where, o.Dir, limit, o.Login); err != nil {
			return nil, fmt.Errorf("starting a NATS server: %w", err)
		}
		c.url = c.own.url
	} else if err := refusal(o.URL); err != nil {
		return nil, err
	}
	if err := c.dial(); err != nil {
		c.close()
		return nil, fmt.Errorf("NATS server %s: %w", WithoutSecret(c.url), err)
	}
	return c, nil
}

// isEmbedded reports whether a URL stands for a server in this process.
func isEmbedded(url string) bool {
	name, _, _ := strings.Cut(url, "=")
	return name == Embedded
}

// schemes are those that clients of NATS take.
var schemes = []string{"nats", "tls", "ws", "wss"}

// refusal says what is wrong with the URLs of a server or a cluster, which commas separate, before
// anything waits for an answer there. A name alone is taken for a mistake, not for a host.
func refusal(urls string) error {
	for one := range strings.SplitSeq(urls, ",") {
		one = strings.TrimSpace(one)
		scheme, _, has := strings.Cut(one, "://")
		switch {
		case has && !slices.Contains(schemes, scheme):
			return fmt.Errorf("%s is no NATS server: give a URL with nats:// or tls:// (or ws:// or wss://)",
				WithoutSecret(one))
		case !has && !strings.Contains(one, ":"):
			return fmt.Errorf("%s is no server: give nats://HOST:PORT, or embedded for a check that leads",
				WithoutSecret(one))
		}
	}
	return nil
}

// dial connects. A connection that breaks is made again, as often as it takes.
func (c *connection) dial() error {
	options := []nats.Option{
		// A server that does not answer two pings is gone, although the connection may not say so.
		nats.Name("tandem"), nats.MaxReconnects(-1), nats.Timeout(patience),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2), nats.ReconnectWait(beat / 2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // each call has its own error
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			c.away.Store(time.Now().UnixNano())
			if err != nil {
				c.say("the NATS server is gone (%v): trying again", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			c.since.Store(time.Now().UnixNano())
			c.away.Store(0)
			c.say("the NATS server is there again")
			select {
			case c.again <- struct{}{}:
			default: // nobody has looked since the last time
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	// Within the process there is nobody to log in to, and no need for TLS.
	url := c.url
	if c.own != nil {
		options, url = append(options, c.own.connects()), strings.Replace(url, "tls://", "nats://", 1)
	} else {
		options = append(options, c.Login.options()...)
	}
	// A server that is started again is away for a moment.
	var err error
	for end := time.Now().Add(firstPatience); ; pause(context.Background(), beat/4) {
		if c.nats, err = nats.Connect(url, options...); err == nil {
			break
		}
		if !isAway(err) || time.Now().After(end) {
			return fmt.Errorf("connecting: %w", explained(err))
		}
	}
	c.since.Store(time.Now().UnixNano())
	c.js, err = jetstream.New(c.nats)
	return err
}

// isAway reports whether an error of a connection is that of a server that is not there, or just
// begins or ends. With TLS, a connection that ends may also be refused for good.
func isAway(err error) bool {
	return !errors.Is(err, nats.ErrTLS) && (errors.Is(err, nats.ErrNoServers) || errors.Is(err, io.EOF) ||
		errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET))
}

// explained is an error of a connection with what to do about it.
func explained(err error) error {
	var unknown x509.UnknownAuthorityError
	var network *net.OpError
	var lookup *net.DNSError
	// A server that wants a certificate says so after the handshake. Its alert may be read, or the
	// connection may be found closed before that.
	refused := errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET)
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("nobody answers there: start nats-server --jetstream, or name another address "+
			"(%w)", err)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Errorf("there is no host %s: check the name (%w)", lookup.Name, err)
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("it does not let this tandem in: give user and password in the URL, or "+
			"--nats-creds or --nats-nkey (%w)", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("its certificate is by nobody that is known here: name the file of that authority "+
			"with --nats-ca (%w)", err)
	case errors.Is(err, nats.ErrTLS) && refused, errors.As(err, &network) && network.Op == "remote error":
		return fmt.Errorf("it ends the TLS connection: it may want a certificate, so name one that it knows "+
			"with --nats-cert and --nats-key (%w)", err)
	}
	return err
}

// options are those by which a client logs in.
func (l Login) options() (list []nats.Option) {
	if l.Credentials != "" {
		list = append(list, nats.UserCredentials(l.Credentials))
	}
	if l.NKey != "" {
		list = append(list, func(o *nats.Options) error {
			option, err := nats.NkeyOptionFromSeed(l.NKey)
			if err != nil {
				return err
			}
			return option(o)
		})
	}
	if l.CA != "" {
		list = append(list, nats.RootCAs(l.CA))
	}
	if l.Certificate != "" {
		list = append(list, nats.ClientCert(l.Certificate, l.Key))
	}
	return list
}

// say tells the user something, if there is one.
func (c *connection) say(format string, a ...any) {
	if c.Say != nil {
		c.Say(format, a...)
	}
}

// close ends the connection, and the server if it was started for that.
func (c *connection) close() {
	if c.nats != nil {
		c.nats.Close()
	}
	if c.own != nil && c.Server == nil {
		c.own.stop()
	}
}

// receive takes the messages of a consumer, one after the other, as long as there are to be more.
// Should the server or the consumer be gone, it is made anew.
func (c *connection) receive(ctx context.Context, stream string, config jetstream.ConsumerConfig,
	more func() bool, take func(jetstream.Msg)) {
	config.AckPolicy, config.InactiveThreshold = jetstream.AckExplicitPolicy, time.Minute
	var consumer jetstream.Consumer
	// An idle consumer is removed by the server after a minute. It is made again, too.
	for more() && ctx.Err() == nil {
		var err error
		if consumer == nil {
			making, cancel := context.WithTimeout(ctx, patience)
			consumer, err = c.js.CreateOrUpdateConsumer(making, stream, config)
			cancel()
		}
		var batch jetstream.MessageBatch
		if err == nil {
			// One message at a time: others may go to other workers meanwhile.
			batch, err = consumer.Fetch(1, jetstream.FetchMaxWait(beat))
		}
		if err == nil {
			for m := range batch.Messages() {
				take(m)
			}
			err = batch.Error()
		}
		// The server is away, or has lost the consumer, or the stream.
		if err != nil {
			consumer = nil
			pause(ctx, beat)
		}
	}
}

// pause waits before something is tried again.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// The first byte of a message says where the rest is.
const (
	inMessage = iota
	inObject
)

// errTooLarge is the error of what is never sent, however often it is tried.
var errTooLarge = errors.New("it is too large to be sent")

// pack makes a message. What is too large for one is put into the object store, under a name.
func (c *connection) pack(ctx context.Context, name string, data []byte) ([]byte, error) {
	switch {
	case len(data) <= maxMessage:
		return append([]byte{inMessage}, data...), nil
	case len(data) > maxPart:
		return nil, fmt.Errorf("%w: %d MB, and the limit is %d", errTooLarge, len(data)>>20, maxPart>>20)
	}
	_, err := c.objects.PutBytes(ctx, name, data)
	return append([]byte{inObject}, name...), err
}

// packOnce is pack for what may be in the store already: its name is that of the same data.
func (c *connection) packOnce(ctx context.Context, name string, data []byte) ([]byte, error) {
	if len(data) > maxMessage {
		// Who reads it now would lose it if it were put there again.
		if _, err := c.objects.GetInfo(ctx, name); err == nil {
			return append([]byte{inObject}, name...), nil
		}
	}
	return c.pack(ctx, name, data)
}

// unpack reads a message.
func (c *connection) unpack(ctx context.Context, message []byte) ([]byte, error) {
	switch {
	case len(message) == 0:
		return nil, errors.New("a message is empty")
	case message[0] == inMessage:
		return message[1:], nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.objects.GetBytes(ctx, string(message[1:]))
}

// forgetRun removes all that a run still has in the object store. The names are of the form
// WHAT.RUN or begin with WHAT.RUN and a point.
func (c *connection) forgetRun(ctx context.Context, run string) {
	list, _ := c.objects.List(ctx) // else it stays
	for _, object := range list {
		if name := strings.Split(object.Name, "."); len(name) > 1 && name[1] == run {
			_ = c.objects.Delete(ctx, object.Name)
		}
	}
}

// forget removes what pack has put into the object store. What is left is removed with the run.
func (c *connection) forget(ctx context.Context, message []byte) {
	if len(message) > 1 && message[0] == inObject {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
		defer cancel()
		_ = c.objects.Delete(ctx, string(message[1:]))
	}
}
