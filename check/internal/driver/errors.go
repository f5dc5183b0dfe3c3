package driver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// A search goes on where a checkpoint could not be stored, and where somebody has killed the peers:
// what they have answered is in the cache, and an older checkpoint, or a start from nothing, brings
// them to where they were.

// MaxAttempts is how often an input is given to peers that are killed meanwhile. They might do it
// themselves.
const MaxAttempts = 3

// errDisturbed says that a timer of the peers has ended, by the machine's clock, before it was to:
// the input is to be given again, to the group as it was before.
var errDisturbed = errors.New("a timer of the peers has ended while they were given an input")

// How often inputs are given again in one answer, because of timers. After maxDisturbed times what
// a new input brings is taken: the machine is too slow. An input whose answer is known must bring
// that answer. So the peers are brought back for it up to maxRepeated times.
const (
	maxDisturbed = 5
	maxRepeated  = 40
)

// cameEarly tells whether a reaction is the known one with something more behind it. On a machine
// under load the peers may be looked at late. Then a timer of theirs may have been set, and have
// ended, since the input was given. Nobody has seen that timer, so TakeDisturbed says nothing.
func cameEarly(want, got model.Reaction) bool {
	want, got = want.Normal(), got.Normal()
	known := make(map[int]model.Delivery, len(want.Deliveries))
	for _, d := range want.Deliveries {
		known[d.Conn] = d
	}
	more := len(got.Opened) > len(want.Opened) || len(got.Ended) > len(want.Ended)
	for _, d := range got.Deliveries {
		w := known[d.Conn]
		delete(known, d.Conn)
		grown := len(d.Data) > len(w.Data) || d.End != w.End
		if !bytes.HasPrefix(d.Data, w.Data) || grown && w.End != model.StillOpen {
			return false
		}
		more = more || grown
	}
	// Opened is in the order in which the connections were made, Ended in that of the peers.
	for _, e := range want.Ended {
		if !slices.Contains(got.Ended, e) {
			return false
		}
	}
	return more && len(known) == 0 && want.Refused == got.Refused &&
		len(got.Opened) >= len(want.Opened) && slices.Equal(got.Opened[:len(want.Opened)], want.Opened)
}

// machineTimes reports whether any peer has the machine's clock, so that its timers end while
// Tandem does something else.
func (d *Driver) machineTimes() bool {
	return d.config.Patience > 0 &&
		slices.ContainsFunc(d.spec.Peers, func(p peers.Peer) bool { return !p.VirtualClock })
}

// wereKilled tells whether an error may be the end of peers, of their proxy, or of CRIU, by
// SIGKILL: by the kernel when memory is short, or by a person. The status of a peer that crashed by
// itself is another one. That is a fault of the peer, which the check reports.
func wereKilled(err error) bool {
	if errors.Is(err, ckptd.ErrDaemonDied) { // then nobody can bring them back
		return false
	}
	var died *watch.Died
	return errors.Is(err, proxy.ErrDied) || errors.Is(err, ckptd.ErrGroupDown) ||
		errors.As(err, &died) && died.Status.Signal() == unix.SIGKILL
}

// explain says why peers may have answered otherwise than before, where that is known. Lost is why
// the first of the checkpoints that are gone is, earlier why the cache has answers of other
// processes, and room what checkpoints may take, in bytes. An error of any other kind is returned
// unchanged.
func (f *findings) explain(err error, lost, earlier string, room int64) error {
	err = f.withReads(err)
	// The order of the cases is that of how much each explains.
	switch {
	case earlier != "":
		return answeredEarlier(err, earlier)
	case f.crowded && (lost != "" || f.unstored != ""):
		return withoutRoom(err, room)
	case lost != "" || f.unstored != "":
		return answeredAnew(err, cmp.Or(lost, f.unstored))
	case f.skipped != "":
		return answeredUnsaved(err, f.skipped)
	}
	return err
}

// withReads adds to an error of peers that answered differently what may be why. The list is sorted
// by the set of reads, so that the message is the same each time.
func (f *findings) withReads(err error) error {
	if len(f.reads) > 0 {
		err = fmt.Errorf("%w\n  So far they have read the time or random numbers: %s", err, f.reads)
	}
	if uninstrumented := slices.Sorted(maps.Keys(f.uninstrumented)); len(uninstrumented) > 0 {
		err = fmt.Errorf("%w\n  It is not known what these read of the time and of random numbers: %s",
			err, strings.Join(uninstrumented, ", "))
	}
	return err
}

// answeredEarlier explains an inconsistency of peers that were started anew after they had
// answered. Other errors pass through unchanged, as in the functions below.
func answeredEarlier(err error, why string) error {
	var differs *iocache.Inconsistency
	if !errors.As(err, &differs) {
		return err
	}
	return fmt.Errorf("the cache has answers of an earlier process of the checker (%s), "+
		"the peers were started anew, and they do not repeat what they answered then: "+
		"their checkpoints ended with that process, so that no strategy helps. "+
		"The check goes on only with peers that give the same answers to the same requests, "+
		"for instance because their time and random numbers are chosen (choices), "+
		"or with a rule for what differs (mask). Else begin anew: without --resume, "+
		"or with another file for --cache\n%w", why, err)
}

// answeredAnew explains an inconsistency of peers of which checkpoints were lost before. Whether
// this place would have had one is not known: what is lost is not kept for each place.
func answeredAnew(err error, lost string) error {
	var differs *iocache.Inconsistency
	if !errors.As(err, &differs) {
		return err
	}
	return fmt.Errorf("checkpoints of the peers were lost (%s): that may be why they were given inputs "+
		"again from further back, and they do not repeat what they answered before; give the checkpoints "+
		"more room, if it was taken for others, and check the program again\n%w", lost, err)
}

// answeredUnsaved explains an inconsistency of peers of which some checkpoints were not tried.
// Whether this place would have had one is not known.
func answeredUnsaved(err error, skipped string) error {
	var differs *iocache.Inconsistency
	if !errors.As(err, &differs) {
		return err
	}
	return fmt.Errorf("not all checkpoints of the peers could be taken (%s): that may be why they "+
		"were given inputs again from further back, and they do not repeat what they answered before; "+
		"with choices under the peer it does\n%w", skipped, err)
}

// NoRoom is the error that ends a search whose peers cannot be brought back to where they were,
// since checkpoints have no more room. The message names both ways to give more room. The
// contradiction itself is wrapped.
type NoRoom struct {
	room int64 // in bytes
	err  error
}

// Error implements error. Sizes are shown in MiB, as the flag takes them.
func (e *NoRoom) Error() string {
	return fmt.Sprintf("the checkpoints of the peers do not fit in %d MiB, and the peers do not repeat "+
		"what they answered before where one is missing: give them more with --checkpoint-mib "+
		"(checkpoint_mib in the configuration), or choices for the peers", e.room>>20)
}

// Unwrap returns the contradiction.
func (e *NoRoom) Unwrap() error { return e.err }

// withoutRoom is the end of a search whose peers contradict themselves, after checkpoints had to go
// or could not be stored.
func withoutRoom(err error, room int64) error {
	var differs *iocache.Inconsistency
	if !errors.As(err, &differs) {
		return err
	}
	return &NoRoom{room, err}
}
