package strategy

// AfterConnect checkpoints after each input that opens a connection, or after which the peers
// have read the time or random numbers: what is said on a connection is replayed.
type AfterConnect struct{}

// Checkpoint implements Strategy.
func (AfterConnect) Checkpoint(s Step) bool {
	return s.Kind == Start || s.Kind == Connect || s.mustSave()
}
