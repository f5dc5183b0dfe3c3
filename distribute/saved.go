package distribute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Members store what another process may go on with. These objects have a bucket of their own,
// which is not bounded: a search may have billions of states, and the disk ends first. An object
// belongs to the run with its key. Whoever leads says which of them are needed, and removes others.

// nameOf is the name that an object of a run has at the server.
func (m *mail) nameOf(name string) string { return m.key + "." + name }

// Put implements Post.
func (m *mail) Put(ctx context.Context, name string, data []byte) error {
	return again(ctx, m.connection, "states cannot be saved", func() error {
		ctx, cancel := context.WithTimeout(ctx, savePatience)
		defer cancel()
		_, err := m.saved.Put(ctx, jetstream.ObjectMeta{Name: m.nameOf(name),
			Opts: &jetstream.ObjectMetaOptions{ChunkSize: maxMessage}}, bytes.NewReader(data))
		return err
	})
}

// getTries is how often an object is asked for that does not come, although the server is there.
const getTries = 3

// Get implements Post.
func (m *mail) Get(ctx context.Context, name string) (data []byte, err error) {
	tries, lost := 0, error(nil)
	err = again(ctx, m.connection, "states cannot be fetched", func() error {
		getting, cancel := context.WithTimeout(ctx, savePatience)
		defer cancel()
		got, err := m.saved.GetBytes(getting, m.nameOf(name))
		if data = got; err == nil {
			return nil
		}
		if m.nats.IsConnected() {
			tries++
		}
		if errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrDigestMismatch) ||
			tries == getTries {
			lost = fmt.Errorf("%w: %s: %w", ErrLost, name, err)
			return nil // it would not come the next time, either
		}
		return err
	})
	return data, errors.Join(err, lost)
}

// Ends implements Post.
func (m *mail) Ends(ctx context.Context) (list [][]byte, err error) {
	err = m.eachEnd(ctx, func(message []byte) error {
		data, err := m.unpack(ctx, message)
		list = append(list, data)
		return err
	})
	return list, err
}

// eachEnd visits the messages to ToEnds, as they were sent.
func (m *mail) eachEnd(ctx context.Context, visit func(message []byte) error) error {
	stream, err := m.js.Stream(ctx, sharesStream)
	if err != nil {
		return err
	}
	subject, _ := shareSubject(m.key, ToEnds)
	for next := uint64(1); ; {
		message, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			next = message.Sequence + 1
			err = visit(message.Data)
		}
		if err != nil {
			return err
		}
	}
}

// Keep removes messages and objects that are not needed any more: messages to each part before a
// place, those to ToLevels before another one, and objects that are not kept.
func (s *Shares) Keep(ctx context.Context, levels uint64, places []uint64,
	isKept func(name string) bool) error {
	// There is nothing to remove before there are checkpoints.
	s.stored = StoredCheckpoints
	return again(ctx, s.connection, "what is not needed cannot be removed", func() error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		stream, err := s.js.Stream(ctx, sharesStream)
		if err != nil {
			return err
		}
		for part, place := range places {
			if err := s.purge(ctx, stream, part, place); err != nil {
				return err
			}
		}
		if err := s.purge(ctx, stream, ToLevels, levels); err != nil {
			return err
		}
		return s.removeObjects(ctx, s.saved, s.run.Key+".", isKept)
	})
}

// purge removes the messages to an address that lie before a place.
func (s *Shares) purge(ctx context.Context, stream jetstream.Stream, to int, place uint64) error {
	if place <= s.purged[to] {
		return nil
	}
	subject, err := shareSubject(s.run.Key, to)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(place))
	}
	if err == nil {
		s.purged[to] = place
	}
	return err
}

// removeObjects removes those whose names begin with something, and are not kept.
func (s *Shares) removeObjects(ctx context.Context, from jetstream.ObjectStore, prefix string,
	isKept func(name string) bool) error {
	list, err := from.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil
	}
	for _, object := range list {
		name, ok := strings.CutPrefix(object.Name, prefix)
		if ok && !isKept(name) {
			err = errors.Join(err, from.Delete(ctx, object.Name))
		}
	}
	return err
}

// nothing is kept.
func nothing(string) bool { return false }

// Forget forgets all that was sent so far, and all objects. The search that it was about has ended,
// and another one of the same run may follow. A process that becomes a part later is then told the
// result only.
func (s *Shares) Forget(ctx context.Context) error {
	s.stored = min(s.stored, StoredMessages) // the result stays
	return again(ctx, s.connection, "what was sent cannot be removed", func() error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		stream, err := s.js.Stream(ctx, sharesStream)
		if err != nil {
			return err
		}
		// What is sent in between is of the search that has ended, too.
		for _, to := range []string{"to.>", "all", "levels", "front"} {
			subject := sharesSubject + s.run.Key + "." + to
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return err
			}
		}
		// Messages that were too large are objects, and so may results be.
		results := map[string]bool{}
		err = s.mail.eachEnd(ctx, func(message []byte) error {
			if len(message) > 0 && message[0] == inObject {
				results[string(message[1:])] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		isResult := func(name string) bool { return results[sharesSubject+name] }
		return errors.Join(s.removeObjects(ctx, s.objects, sharesSubject, isResult), s.removeSaved(ctx))
	})
}

// removeSaved removes all objects of members, and all that is known of them.
func (s *Shares) removeSaved(ctx context.Context) error {
	stream, err := s.js.Stream(ctx, "OBJ_"+savedBucket)
	if err == nil {
		err = stream.Purge(ctx)
	}
	return err
}

// clean forgets all messages, with those that were too large, and all objects. There is only one
// check at a time that leads at a server, so whatever is there is its own, or that of one that has
// ended.
func (s *Shares) clean(stream jetstream.Stream) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
	defer cancel()
	return errors.Join(stream.Purge(ctx), s.removeObjects(ctx, s.objects, sharesSubject, nothing),
		s.removeSaved(ctx))
}
