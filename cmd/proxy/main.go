// Tandem-proxy is pid 1 of a peer group. Tandem-ckptd starts it; it is of no use alone.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/tandem-mc/tandem/proxy"
)

func init() { runtime.LockOSThread() } // main stays on the first thread: see proxy.Run

// main takes two arguments, which proxy.Run describes. The exit code is 2 where it is started in a
// wrong way, and 1 where it fails later.
func main() {
	if len(os.Args) != 3 || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "tandem-proxy: started by tandem-ckptd as pid 1 of a peer group, not by hand")
		os.Exit(2)
	}
	if err := proxy.Run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "tandem-proxy:", err)
		os.Exit(1)
	}
}
