package distribute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// provide makes the queues, the bucket and the object store, unless they are there. In a cluster
// each is on three servers, so one of them may end.
func (c *connection) provide(ctx context.Context) error {
	// Fewer servers than that cannot keep three copies.
	replicas := 1
	if c.nats.ConnectedClusterName() != "" && len(c.nats.Servers()) >= clusterReplicas {
		replicas = clusterReplicas
	}
	var state jetstream.KeyValue
	var objects, saved jetstream.ObjectStore
	err := agreed(ctx, func(ctx context.Context) (err error) {
		// A full queue refuses what is new: who gives out parts is to know.
		streams := []jetstream.StreamConfig{sharesConfig(replicas)}
		for _, q := range [][2]string{{partsStream, "tandem.parts.>"},
			{resultsStream, "tandem.results.>"}} {
			streams = append(streams, jetstream.StreamConfig{
				Name: q[0], Subjects: []string{q[1]}, Retention: jetstream.WorkQueuePolicy,
				Replicas: replicas, MaxBytes: maxQueue, MaxMsgs: maxPending,
				Discard: jetstream.DiscardNew,
			})
		}
		for _, s := range streams {
			if _, err := made(ctx, c.js.CreateOrUpdateStream, s); err != nil {
				return err
			}
		}
		state, err = made(ctx, c.js.CreateOrUpdateKeyValue, jetstream.KeyValueConfig{
			Bucket: stateBucket, TTL: lifetime, MaxBytes: maxState, Replicas: replicas,
		})
		if err != nil {
			return err
		}
		objects, err = made(ctx, c.js.CreateOrUpdateObjectStore, jetstream.ObjectStoreConfig{
			Bucket: objectBucket, MaxBytes: maxObjects, Replicas: replicas,
		})
		if err != nil {
			return err
		}
		saved, err = made(ctx, c.js.CreateOrUpdateObjectStore, jetstream.ObjectStoreConfig{
			Bucket: savedBucket, Replicas: replicas,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("making the queues (the server needs JetStream, with 3 GiB of room on its disk): "+
			"%w", err)
	}
	// Handles are names, and the same after a server has come back.
	if c.state == nil { // what is made anew later is used by its name
		c.state, c.objects, c.saved = state, objects, saved
	}
	return nil
}

// madeTries is how often something is made that has no room, at most.
const madeTries = 4

// made makes something at the server. A server counts the room twice while two clients make the
// same thing: for one of them there may be none then. So that is tried again, a few times.
func made[C, T any](ctx context.Context, do func(context.Context, C) (T, error), config C) (T, error) {
	for tries := 1; ; tries++ {
		t, err := do(ctx, config)
		var known *jetstream.APIError
		if !errors.As(err, &known) || known.ErrorCode != noRoom || tries == madeTries {
			return t, err
		}
		pause(ctx, beat/2)
	}
}

// agreed does something again until the servers of a cluster agree on who of them leads. Those that
// have just begun, or have lost their leader, take some seconds for that. What they are asked in
// the meantime nobody answers, not even later.
func agreed(ctx context.Context, do func(context.Context) error) error {
	end := time.Now().Add(agreement)
	// It may take long, too, where servers make files, or are busy. So each try has more time.
	for most := 2 * beat; ; most = min(2*most, patience) {
		trying, cancel := context.WithTimeout(ctx, most)
		err := do(trying)
		cancel()
		if err == nil || ctx.Err() != nil || !isUnsettled(err) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("no answer in %v: see that the server is well; in a cluster more than half of "+
				"the servers have to be there (%w)", agreement, err)
		}
		// An answer of a cluster that cannot do it yet comes at once.
		if !errors.Is(err, context.DeadlineExceeded) {
			pause(ctx, beat/2)
		}
	}
}

// Codes of errors of a cluster whose servers have not all found each other.
const (
	noPeers      jetstream.ErrorCode = 10005 // too few servers are known for so many copies
	notAvailable jetstream.ErrorCode = 10008 // nobody leads
	notLeading   jetstream.ErrorCode = 10009 // who was asked does not lead now
)

// noRoom is the code of an error of a server that has promised all of its disk already.
const noRoom jetstream.ErrorCode = 10047

// isUnsettled reports whether an error is one of a cluster that may go by itself.
func isUnsettled(err error) bool {
	var known *jetstream.APIError
	if errors.As(err, &known) {
		return known.ErrorCode == noPeers || known.ErrorCode == notAvailable || known.ErrorCode == notLeading
	}
	return errors.Is(err, context.DeadlineExceeded)
}
