// Tandem-ckptd is the checkpoint daemon. Tandem starts it, for itself alone; with --listen
// it is a shared one, which `tandem ckptd start` starts.
package main

import (
	"os"

	"github.com/tandem-mc/tandem/ckptd"
)

func main() { os.Exit(ckptd.Main(os.Args[1:])) }
