// Package distribute gives parts of a search to other processes, on this machine or on others, and
// brings back what they have found. It knows nothing of searches: parts and results are bytes.
// They go through NATS. The server is one that runs already, or is in this process.
//
// # What is on the server
//
// The stream TANDEM_PARTS is a work queue: each part is taken by one worker. A worker tells the
// server each second that it is still at work. If it does not for some seconds, the server gives
// the part to another one. The stream TANDEM_RESULTS is a work queue, too, which the leader reads.
// Both have subjects of the form tandem.parts.RUN.NUMBER, so nothing of one run comes to another.
//
// The bucket tandem has the key run, with how far the run is, and a key for each worker. The leader
// writes its key each second. The keys end by themselves a few seconds after that was done last.
// The object store tandem-objects has the program, and parts, results, questions and answers that
// are too large for a message. What a run has there is removed at its end.
//
// Some messages are for those who are there, and are kept nowhere: that a worker is alive, and
// which part it explores; that it has begun with a part; that a part is not wanted any more; that
// a run has begun or ended; that the server is about to end. Each of them may be lost. Then
// something takes a second longer, or is explored twice.
//
// # Searches over states
//
// Their parts are no items of a queue. Each is a member: a process that goes on until the run ends,
// and that sends messages to the others. The stream TANDEM_SHARES has them, with subjects of the
// form tandem.shares.KEY.to.PART, and keeps them as long as they are needed. So a process that
// becomes a part in place of one that was lost gets the same messages. The key is made of what the
// run is about. Whoever leads the same later finds its messages, and goes on. The object store
// tandem-saved has what members have saved, so that another process can begin with it.
//
// Two kinds of messages are not kept: that a worker is to have a member, or not to have it any
// more, and that a member has ended. If one is lost, the leader sees a second or some later that
// the worker does not name the member.
//
// # What may happen
//
// A part may be delivered twice, and a worker may end at any moment. A result is used once, and
// what does not come is explored by the one who asked. So what is lost is time, and nothing else.
//
// The leader may be killed. The next one sees that the key of the run does not change any more,
// empties the queues, and begins a run of its own. Results of the old one are of no use to it.
//
// The server may be out of reach, or be killed. Clients connect again as often as it takes. The
// leader goes on without workers meanwhile. A worker goes on with its part, and sends the result
// when the server is there again. If the server comes back without what it has stored, the leader
// makes it anew, the program included. Parts that were lost so are found out: no worker speaks of
// them.
//
// The server may have no room. Then parts cannot be given out, or results not be sent. Both are
// told to the user, and the leader explores those parts itself.
package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/tandem-mc/tandem/distribute/internal/ledger"
)

// Options say where the server is.
type Options struct {
	// URL is that of a NATS server, or of several, with commas. Embedded has it in this process.
	URL   string
	Login Login
	// Server is one in this process that is there already; nil: the URL says which one is used.
	Server *Server
	// Dir is where the server in this process keeps what it stores, up to Limit bytes; 0: as many
	// as it may need.
	Dir   string
	Limit int64
	// Say is told what happens to the connection; nil: nobody is.
	Say func(format string, a ...any)
	// Answer answers what workers ask who explore parts; nil: they ask nothing.
	Answer Answer
}

// Login is how a client shows who it is, as NATS has it: each is a file, or empty. A server in this
// process has the certificate, and with CA it asks workers for theirs.
type Login struct {
	Credentials string // a token and a key
	NKey        string // the seed of a key
	CA          string // certificates by which the other side is known
	Certificate string
	Key         string // of Certificate
}

// Embedded is the URL that stands for a server in this process, at a free port of this machine. An
// address may follow, after an equals sign: embedded=0.0.0.0:4222.
const Embedded = "embedded"

// Identity is what has to be the same of a leader and its workers.
type Identity struct {
	Tandem  string `json:"tandem"`  // hash of the executable
	Version string `json:"version"` // of tandem
	Go      string `json:"go"`      // that it was built with
	OS      string `json:"os"`      // and for what: system and architecture
}

// Run is what the leader says of a run.
type Run struct {
	ID       string          `json:"id"`
	Package  string          `json:"package"`
	Identity Identity        `json:"identity"`
	Program  string          `json:"program"` // hash of the executable that is checked
	Setup    json.RawMessage `json:"setup"`   // for who explores
	// Embedded says that the server ends with the run.
	Embedded bool `json:"embedded"`
	// Key is the same for runs that do the same, of those whose parts are members; else it is
	// empty.
	Key string `json:"key,omitempty"`
}

// Progress is what a leader tells of its run.
type Progress struct {
	Run        Run           `json:"run"`
	Parts      ledger.Counts `json:"parts"`
	Executions int           `json:"executions"` // that are reported to the search
	Elapsed    time.Duration `json:"elapsed"`
	// States is how far a search over states is; nil: it is another search, or nothing was told.
	States *States `json:"states,omitempty"`
}

// States is how far a search over states is.
type States struct {
	Count       int   `json:"count"`
	Transitions int64 `json:"transitions"`
	Depth       int   `json:"depth"` // transitions to the last states
}

// Worker is what a worker tells of itself.
type Worker struct {
	ID         string  `json:"id"`
	Host       string  `json:"host"`
	Run        string  `json:"run"`  // at which it works; empty: it waits for one
	Part       uint64  `json:"part"` // that it explores; 0: none
	Parts      int     `json:"parts"`
	Executions int     `json:"executions"`
	Rate       float64 `json:"rate"` // executions in a second, of the last minute
	// Shares are the members that it has of a run, by their numbers.
	Shares []uint64 `json:"shares,omitempty"`
	// Problem is why it cannot work at the run; empty: it can.
	Problem string `json:"problem,omitempty"`
}

// Status is what there is to know of a server.
type Status struct {
	Progress *Progress // nil: no check leads there
	Workers  []Worker  // by their names
}

// Explorer explores parts of one run.
type Explorer interface {
	// Explore explores a part, until it has ended or soon after stop says so, and says how many
	// executions that took.
	Explore(part []byte, stop func() bool) (result []byte, executions int, err error)
	Close()
}

// Ask asks the leader of a run something, and waits for the answer. A worker asks one question at a
// time, and another call waits. The leader answers a question once, however often it is sent. The
// error is ErrNoLeader if nobody leads the run any more.
type Ask func(ctx context.Context, question []byte) (answer []byte, err error)

// Answer answers a question of a worker. It is called once at a time. When the context ends it ends
// soon, and its answer is not sent. Nil is no answer: the worker asks again, as long as there is
// the run.
type Answer func(ctx context.Context, question []byte) (answer []byte)

// ErrNoLeader is the error of a question that nobody answers.
var ErrNoLeader = errors.New("the check that leads does not answer any more")

// ErrLost is of an object of a member that is not there any more, or not as it was.
var ErrLost = errors.New("an object at the server is lost")

// Limits on what is stored and sent.
const (
	maxMessage = 512 << 10 // bytes; what is larger goes through the object store
	maxPart    = 64 << 20  // bytes of a part or a result
	maxPending = 4096      // parts that wait
	maxQueue   = 256 << 20 // bytes of a queue
	maxObjects = 2 << 30   // bytes of the object store
	maxState   = 16 << 20  // bytes of the bucket
	// unbound is room for the streams that have no bound of their own: a server that has promised
	// all of its room to others does not make them. Only searches over states put anything there,
	// and their server has a limit of its own.
	unbound   = 64 << 20
	maxShares = 1 << 42 // bytes of a server in this process for searches over states: the disk ends first
)

// clusterReplicas is on how many servers of a cluster everything is kept.
const clusterReplicas = 3

// How long things may take.
const (
	ackWait  = 5 * time.Second // after which a part of a worker that is silent is given to another
	beat     = time.Second     // between two signs of life
	lifetime = 6 * time.Second // after which who gave none is gone
	patience = 10 * time.Second
	// For an object of some megabytes, or of a hundred, over whatever network.
	savePatience = time.Minute
	// For a server that is not there at first: who has named the wrong one does not wait for long.
	firstPatience = 3 * time.Second
	// Servers of a cluster elect who leads 4 to 9 s after they have heard of each other.
	agreement    = 30 * time.Second
	stopGrace    = 2 * time.Second  // for a worker to end a part that is wanted
	lost         = 15 * time.Second // after which a part that no worker speaks of is lost
	pingInterval = 5 * time.Second
	awayMost     = 2 * time.Minute // after which a server that ends with its run does not come back
)

// WithoutSecret is a URL, or several, as it may be shown: without user names and passwords.
func WithoutSecret(urls string) string {
	// The last @ is the one before the host: a password may have some of its own.
	list := strings.Split(urls, ",")
	for i, url := range list {
		scheme := ""
		if before, _, ok := strings.Cut(url, "://"); ok {
			scheme = before + "://"
		}
		rest := url[len(scheme):]
		list[i] = scheme + rest[strings.LastIndex(rest, "@")+1:]
	}
	return strings.Join(list, ",")
}
