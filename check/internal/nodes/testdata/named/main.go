// Command named names its state, once.
package main

import "github.com/tandem-mc/tandem"

func main() { tandem.State(0) }
