// Tandem-ckptd is the checkpoint daemon. Tandem starts it; it is of no use alone.
package main

import (
	"fmt"
	"os"

	"github.com/tandem-mc/tandem/ckptd"
)

func main() {
	if len(os.Args) != 1 || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "tandem-ckptd: started by tandem as pid 1 of its own namespace, not by hand")
		os.Exit(2)
	}
	if err := ckptd.Serve(); err != nil {
		fmt.Fprintln(os.Stderr, "tandem-ckptd:", err)
		os.Exit(1)
	}
}
