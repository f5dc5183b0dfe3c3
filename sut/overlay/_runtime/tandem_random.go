package runtime

// Random numbers come from streams of the goroutine that draws them, named by
// its place in the spawn tree: with one stream for all, two independent steps
// would not commute.

// The streams of a goroutine. The runtime's own use of cheaprand, such as heap
// sampling, must not shift what the program sees.
const (
	streamRand = iota
	streamCheap
	streamBytes
)

//go:nosplit
func tandemDraw(stream int) uint64 {
	t := &getg().tandem
	t.drawn[stream]++
	return tandemMix(tandemMix(t.seed^uint64(stream+1)<<56) + t.drawn[stream]*0x9e3779b97f4a7c15)
}

// tandemRandom fills p in place of the system's entropy.
func tandemRandom(p []byte) int {
	for i := 0; i < len(p); i += 8 {
		x := tandemDraw(streamBytes)
		for j := i; j < i+8 && j < len(p); j++ {
			p[j] = byte(x)
			x >>= 8
		}
	}
	return len(p)
}

func tandemWallClock() (sec int64, nsec int32, mono int64) {
	since := tandem.now - tandemEpoch
	return int64(tandem.sh.environment.start) + since/1e9, int32(since % 1e9), tandem.now
}

// tandemMix is the finaliser of splitmix64.
//
//go:nosplit
func tandemMix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
