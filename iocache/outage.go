package iocache

// outage is what a store has failed. While it lasts the cache takes more memory than its limit, but
// not without a bound: see beyond. The store is tried again each time the cache has grown by some
// bytes. These double with each try, so a disk that stays full is asked a few times only. Nothing
// depends on the time.
type outage struct {
	err   error // of the last try; nil: the store works
	began int64 // bytes of the cache when the first of the tries in a row failed
	next  int64 // bytes of the cache at which it is tried again
	pause int64 // for how many more bytes it is not
	// For Stats.
	failed   int   // tries
	first    error // of the first one
	exceeded int64 // the most bytes held beyond the limit
}

// Bytes of the cache in which a store that has failed is not tried again are these parts of the
// limit, at first and at most. Beyond the limit there are, while it fails, as many as moreRoom.
const (
	firstPause = 256
	mostPause  = 32
	moreRoom   = 4
)

// beyond is how many bytes more than its limit the cache may hold at present: none, and while
// nothing can be put into the store a quarter. So a disk that is full for a moment does not end a
// search.
func (o *outage) beyond(limit int64) int64 {
	if o.err == nil {
		return 0
	}
	return limit / moreRoom
}

// failedAt notes that the store has failed when the cache was to hold so many bytes.
func (o *outage) failedAt(bytes, limit int64, err error) {
	if o.failed++; o.first == nil {
		o.first = err
	}
	if o.err == nil {
		o.began = bytes
	}
	o.pause = min(max(2*o.pause, limit/firstPause, 1), max(limit/mostPause, 1))
	o.err, o.next = err, bytes+o.pause
}
