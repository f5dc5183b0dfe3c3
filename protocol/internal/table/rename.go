package table

// Nodes may be alike. Then a search visits one of the states that differ in their names only, and
// so comes to local states and messages that no handler has made. What they were made of is kept
// among the entries: a local state or message, and the new names. So others can make them, too:
// whoever reads a table that was written, and whoever follows the table of another process.
//
// Such an entry is kept only if what was renamed had no number before. Then it came about here, and
// nobody could know it otherwise. If it had one, an earlier entry has brought it about.
//
// It is written like the entry of a handler. The names stand in the place of a set of messages, and
// there is one outcome: the number of a local state, or that of one message.

// Renamer replaces names of nodes in images. To has the new name of each. With isMask several names
// become one, or one that no node has; such images are only compared.
type Renamer interface {
	// RenameState is for a local state of a node.
	RenameState(node int, state []byte, to []int, isMask bool) ([]byte, error)
	// RenameMessage is for the body of a message.
	RenameMessage(body []byte, to []int, isMask bool) ([]byte, error)
}

// renaming is what was read of an entry of something that was renamed.
type renaming struct {
	to   []int
	next Local
	sent []Message
}

// renaming reads the names, and the new number: that of a local state or of a message.
func (r *keptReader) renaming(k key, nodes int) (x renaming) {
	// Each node has one name, and each name one node.
	isUsed := make([]bool, nodes)
	for range r.number(nodes + 1) {
		n := r.number(nodes)
		if r.isWrong || isUsed[n] {
			r.isWrong = true
			return x
		}
		isUsed[n] = true
		x.to = append(x.to, n)
	}
	outcomes := r.number(len(r.in) + 1)
	x.next, x.sent = Local(r.number(maxNumber)), r.numbers(maxNumber)
	r.isWrong = r.isWrong || len(x.to) != nodes || outcomes != 1 ||
		(k.kind == RenamedMessage) != (len(x.sent) == 1)
	return x
}

// renaming follows such an entry: the same is renamed here.
func (f *Follower) renaming(r *keptReader, k key, isKnown bool) error {
	x := r.renaming(k, len(f.locals))
	if r.isWrong || f.table.renamer == nil {
		return ErrKept
	}
	// The bytes were passed over, and what they say was done before.
	if isKnown {
		return nil
	}
	if k.kind == RenamedMessage {
		m, ok := f.Message(Message(k.event))
		if !ok {
			return ErrKept
		}
		n, err := f.table.RenameMessage(m, x.to)
		if err != nil {
			return err
		}
		return f.knowMessage(x.sent[0], n)
	}
	l, ok := f.Local(k.node, k.local)
	if !ok {
		return ErrKept
	}
	n, err := f.table.RenameState(k.node, l, x.to)
	if err != nil {
		return err
	}
	return f.knowLocal(x.to[k.node], x.next, n)
}

// knowLocal notes what the number of a local state stands for.
func (f *Follower) knowLocal(node int, there, here Local) error {
	if known, ok := f.Local(node, there); ok && known != here {
		return ErrOther
	}
	f.locals[node] = grown(f.locals[node], int(there))
	f.locals[node][there] = here + 1
	return nil
}

// knowMessage is that for a message.
func (f *Follower) knowMessage(there, here Message) error {
	if known, ok := f.Message(there); ok && known != here {
		return ErrOther
	}
	f.messages = grown(f.messages, int(there))
	f.messages[there] = here + 1
	return nil
}
