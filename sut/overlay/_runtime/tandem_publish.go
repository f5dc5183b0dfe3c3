package runtime

import (
	"internal/runtime/sys"
	_ "unsafe" // for linkname
)

// tandemPublishPoint has the running goroutine wait for its turn to publish something, and reports
// whether the checker wants to know of it.
//
//go:linkname tandemPublishPoint syscall.tandemPublishPoint
func tandemPublishPoint() bool {
	gp := getg()
	if !tandem.on || gp.tandem.id == 0 || !tandemHasPeers() ||
		tandem.sh.environment.inputs&inputsPublished == 0 {
		return false
	}
	t, object := &gp.tandem, publishedObject
	t.op, t.object, t.state, t.choices = opPublish, uintptr(object), 0, 1
	t.caller, t.frame = sys.GetCallerPC(), getcallerfp()
	tandemArrive()
	return true
}

// tandemPublishInput records that the running transition has published something.
//
//go:linkname tandemPublishInput syscall.tandemPublishInput
func tandemPublishInput(p []byte) {
	if tandem.sh.environment.inputs&inputsPerConnection == 0 {
		tandemTouchName(opPublish, groupObject, accessWrite)
	}
	tandemRecord(record{kind: recordExchange, op: opPublish, a: noConnection, b: tandemHash(p),
		number: uint32(len(p)), pc: uint64(getg().tandem.caller)})
}
