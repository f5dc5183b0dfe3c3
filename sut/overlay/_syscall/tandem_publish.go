package syscall

import _ "unsafe" // for linkname

//go:linkname tandemPublishPoint
func tandemPublishPoint() bool

//go:linkname tandemPublishInput
func tandemPublishInput(p []byte)

// tandemPublish tells the checker of a value that the program publishes: its name, a zero byte, and
// the value. The answer may be that it violates a property.
func tandemPublish(p []byte) {
	if !tandemPublishPoint() {
		return
	}
	_, _, deliveries, data := tandemExchange(exchangePublish, 0, nil, 0, p[:min(len(p), exchangeBytes)])
	tandemPublishInput(p)
	tandemDeliver(opPublish, deliveries, data)
}
