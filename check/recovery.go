package check

import (
	"cmp"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tandem-mc/tandem/ckptd"
	"github.com/tandem-mc/tandem/internal/model"
	"github.com/tandem-mc/tandem/iocache"
	"github.com/tandem-mc/tandem/peers/watch"
	"github.com/tandem-mc/tandem/proxy"
)

// A search goes on where a checkpoint could not be stored, and where somebody has killed the peers:
// what they have answered is in the cache, and an older checkpoint, or a start from nothing, brings
// them to where they were.

// maxAttempts is how often an input is given to peers that are killed meanwhile. They might do it themselves.
const maxAttempts = 3

// answer brings the group to where the search goes on, and gives it an input.
func (p *conversation) answer(in model.Input) (reaction model.Reaction, err error) {
	defer func() { p.hurried = false }()
	for attempt := 1; ; attempt++ {
		if err = p.comeBack(p.cursor.At()); err == nil {
			if reaction, err = p.give(in); err == nil {
				return reaction, nil
			}
			err = p.lastWords(err)
		}
		if errors.Is(err, errDisturbed) && p.ctx.Err() == nil {
			p.counts.Disturbed++
			p.dropSockets()
			p.at = nil
			p.hurried = attempt >= maxDisturbed
			continue
		}
		if !wereKilled(err) || attempt == maxAttempts || p.ctx.Err() != nil {
			return reaction, p.lastInputs(err, in)
		}
		p.noteKilled(err)
	}
}

// errDisturbed says that a timer of the peers has ended, by the machine's clock, before it was to:
// the input is to be given again, to the group as it was before.
var errDisturbed = errors.New("a timer of the peers has ended while they were given an input")

// maxDisturbed is how often an input is given again for that. Where the machine is too slow, what
// comes then is taken.
const maxDisturbed = 5

// wereKilled tells whether an error may be the end of peers, of their proxy, or of CRIU, by
// SIGKILL: by the kernel when memory is short, or by a person.
func wereKilled(err error) bool {
	if errors.Is(err, ckptd.ErrDaemonDied) { // then nobody can bring them back
		return false
	}
	var died *watch.Died
	return errors.Is(err, proxy.ErrDied) || errors.Is(err, ckptd.ErrGroupDown) || errors.As(err, &died) && died.Status.Signal() == unix.SIGKILL
}

// noteKilled has a group brought back when it is needed.
func (p *conversation) noteKilled(err error) {
	p.counts.Killed++
	p.killed = cmp.Or(p.killed, err.Error())
	p.lost = cmp.Or(p.lost, err.Error())
	p.dropSockets()
	p.at = nil
}

// goOnWithout does without a checkpoint that could not be stored, or whose group was killed: it
// costs that inputs have to be given again. Where the attempt was the end of the group, it is
// brought back when it is needed.
func (p *conversation) goOnWithout(err error) {
	if !errors.Is(err, ckptd.ErrNotStored) {
		p.noteKilled(err)
		return
	}
	p.counts.Unstored++
	p.unstored = cmp.Or(p.unstored, err.Error())
	p.crowded = p.crowded || errors.Is(err, ckptd.ErrNoRoom)
	if p.group.Check() != nil {
		p.dropSockets()
		p.at = nil
	}
}

// answeredAnew explains an inconsistency of peers of which checkpoints were lost before. Whether
// this place would have had one is not known: what is lost is not kept for each place.
func answeredAnew(err error, lost string) error {
	var differs *iocache.Inconsistency
	if !errors.As(err, &differs) {
		return err
	}
	return fmt.Errorf("checkpoints of the peers were lost (%s): that may be why they were given inputs again from further back, and they do not repeat what they "+
		"answered before; give the checkpoints more room, if it was taken for others, and check the program again\n%w", lost, err)
}

// answeredUnsaved explains an inconsistency of peers of which some checkpoints were not tried.
// Whether this place would have had one is not known.
func answeredUnsaved(err error, skipped string) error {
	var differs *iocache.Inconsistency
	if !errors.As(err, &differs) {
		return err
	}
	return fmt.Errorf("not all checkpoints of the peers could be taken (%s): that may be why they were given inputs again from further back, and they do not repeat what they "+
		"answered before; with choices under the peer it does\n%w", skipped, err)
}

// noRoom ends a search whose peers cannot be brought back to where they were, since checkpoints
// have no more room.
type noRoom struct {
	room int64 // in bytes
	err  error
}

func (e *noRoom) Error() string {
	return fmt.Sprintf("the checkpoints of the peers do not fit in %d MiB, and the peers do not repeat what they answered before where one is missing: "+
		"give them more with --checkpoint-mib (checkpoint_mib in the configuration), or choices for the peers", e.room>>20)
}

func (e *noRoom) Unwrap() error { return e.err }

// withoutRoom is the end of a search whose peers contradict themselves, after checkpoints had to go
// or could not be stored.
func (p *peerSide) withoutRoom(err error) error {
	var differs *iocache.Inconsistency
	if !errors.As(err, &differs) {
		return err
	}
	return &noRoom{p.room, err}
}
