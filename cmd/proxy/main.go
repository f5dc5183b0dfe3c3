// Tandem-proxy is pid 1 of a peer group. Tandem-ckptd starts it; it is of no use alone.
package main

import (
	"os"
	"runtime"

	"github.com/tandem-mc/tandem/proxy"
)

func init() { runtime.LockOSThread() } // main stays on the first thread: see proxy.Run

func main() { os.Exit(proxy.Main(os.Args[1:])) }
