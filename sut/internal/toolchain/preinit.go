package toolchain

import "bytes"

// preinit are edits that fill, before main.main, what the standard library makes when it is first
// used and never changes: tables, settings, self-tests of cryptography that are off. Whoever comes
// first would make it, and so each of them multiplied the executions by the number of goroutines
// that could be first, though it makes no difference to anybody.
var preinit = []patch{
	{"internal/poll/fd_poll_runtime.go",
		func(e *editor) { e.add("func init() { serverInit.Do(runtime_pollServerInit) }") }},
	{"internal/godebug/godebug.go", func(e *editor) {
		e.swap("New", "return &Setting{name: name}", "s := &Setting{name: name}; s.Value(); return s")
	}},
	{"strings/replace.go", func(e *editor) {
		const made = "&Replacer{oldnew: append([]string(nil), oldnew...)}"
		e.swap("NewReplacer", "return "+made, "r := "+made+"; r.once.Do(r.buildOnce); return r")
	}},
	{"net/textproto/reader.go", func(e *editor) {
		e.add("func init() { " +
			"commonHeaderOnce.Do(initCommonHeader) }")
	}},
	{"crypto/internal/fips140/edwards25519/scalarmult.go", func(e *editor) {
		e.add("func init() { basepointTable(); basepointNafTable() }")
	}},
	{"crypto/internal/fips140/ecdh/cast.go", selfTest},
	{"crypto/internal/fips140/ecdsa/cast.go", selfTest},
	{"crypto/internal/fips140/ed25519/cast.go", selfTest},
	{"crypto/internal/fips140/mlkem/cast.go", selfTest},
	{"crypto/internal/fips140/rsa/cast.go", selfTest},
}

// selfTest does what a package of cryptography does before it is first used, unless it does that at
// its initialisation.
func selfTest(e *editor) {
	if bytes.Contains(e.text, []byte("\nvar fipsSelfTest = ")) {
		e.add("func init() { fipsSelfTest() }")
	}
}
